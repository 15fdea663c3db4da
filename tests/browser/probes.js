// What the tests ask of a page: what can be seen, read, reached and told apart.
window.probes = (function () {
  "use strict";
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;

  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const name = (element) => element.localName + (element.id ? "#" + element.id : "") +
    (element.classList.length ? "." + Array.from(element.classList).join(".") : "");

  function shown(element) {
    const box = element.getBoundingClientRect();
    return element.checkVisibility({ visibilityProperty: true }) && box.width + box.height > 0;
  }

  const charts = () => all("svg.wb-chart").filter(shown);
  const label = (svg) => (svg.querySelector("title") || svg).textContent;
  const words = (text) => Array.from(text.childNodes)
    .filter((node) => node.localName !== "title").map((node) => node.textContent).join("");

  // Words and marks that leave their picture, by more than the half pixel that rounding may cost.
  function clipped() {
    return charts().flatMap((svg) => {
      const frame = svg.getBoundingClientRect();
      return all("text, path, line, rect, circle, polygon", svg).filter(shown).filter((each) => {
        const box = each.getBoundingClientRect();
        return box.left < frame.left - 0.5 || box.right > frame.right + 0.5 ||
          box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5;
      }).map((each) => label(svg) + ": " + (words(each) || name(each)));
    });
  }

  // Words on words. A box is as high as the tallest letters and deepest tails, which few words
  // have both; boxes may share a quarter of their height before letters touch.
  function overlapping() {
    return charts().flatMap((svg) => {
      const boxes = all("text", svg).filter(shown)
        .map((text) => [words(text), text.getBoundingClientRect()]);
      const found = [];
      boxes.forEach(([first, a], k) => boxes.slice(k + 1).forEach(([second, b]) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 0.5 && down > Math.min(a.height, b.height) / 4)
          found.push(label(svg) + ": " + first + " | " + second);
      }));
      return found;
    });
  }

  // Tables and code that reach beyond what holds them, and so are cut off or lie on what is beside.
  function wide() {
    return all("table, pre").filter(shown).flatMap((each) => {
      const room = each.closest("figure, details, section").getBoundingClientRect();
      return all("caption, th, td", each).concat(each).filter(shown)
        .filter((part) => part.getBoundingClientRect().right > room.right + 1)
        .map((part) => name(part) + " " + part.textContent.trim().slice(0, 40));
    });
  }

  // Sizes of the words in pictures, in pixels of the screen.
  function smallest() {
    const sizes = charts().flatMap((svg) => {
      const scale = svg.getScreenCTM().a;
      return all("text", svg).filter(shown)
        .map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
    });
    return sizes.length ? Math.min(...sizes) : null;
  }

  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }

  const over = (top, below) => [0, 1, 2].map((k) => top[3] * top[k] + (1 - top[3]) * below[k]);

  function luminance(colour) {
    const [r, g, b] = colour.map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ratio(first, second) {
    const [a, b] = [luminance(first), luminance(second)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  function ground(element) {
    const layers = [];
    for (let up = element; up; up = up.parentElement) {
      const colour = rgba(getComputedStyle(up).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255]);
  }

  function paint(element, kind) {
    const style = getComputedStyle(element);
    if (style[kind] === "none") return null;
    const colour = rgba(style[kind]);
    colour[3] *= parseFloat(style[kind + "Opacity"]) * parseFloat(style.opacity);
    return colour[3] > 0 ? colour : null;
  }

  // The colour under a word at one point: the filled marks that were drawn before it.
  function under(text, svg, x, y) {
    const stack = document.elementsFromPoint(x, y).filter((each) => svg.contains(each));
    const at = stack.indexOf(text);
    const below = (at < 0 ? stack : stack.slice(at + 1))
      .filter((each) => each.matches("rect, path, circle, polygon"))
      .map((each) => paint(each, "fill")).filter((each) => each !== null);
    return below.reduceRight((colour, top) => over(top, colour), ground(svg));
  }

  function wordContrast(text, svg) {
    const style = getComputedStyle(text), box = text.getBoundingClientRect();
    const halo = style.paintOrder.startsWith("stroke") && paint(text, "stroke");
    const worst = [0.1, 0.5, 0.9].map((part) => {
      const x = box.left + part * box.width, y = box.top + box.height / 2;
      const below = halo ? over(halo, ground(svg)) : under(text, svg, x, y);
      return ratio(over(paint(text, "fill") || [0, 0, 0, 0], below), below);
    });
    return Math.min(...worst);
  }

  // Pale on purpose: grid lines, bands, the steps of the loss scale, whose ends are named, and the
  // edges that set the cursor off from these.
  const PALE = ".wb-grid, .wb-band, [class*='wb-step-'], .wb-cursor .wb-star";

  function markContrast(mark, svg) {
    const below = ground(svg);
    const paints = [paint(mark, "stroke"), paint(mark, "fill")].filter((each) => each !== null);
    return paints.length ? Math.max(...paints.map((each) => ratio(over(each, below), below))) : 99;
  }

  // Words below 4.5 : 1 and marks below 3 : 1; the window must be as high as the page.
  function faint() {
    return charts().flatMap((svg) => {
      const weak = (elements, contrast, least) => elements.filter(shown)
        .map((each) => [each, contrast(each, svg)]).filter(([, value]) => value < least)
        .map(([each, value]) => label(svg) + ": " + name(each) + " " +
          (each.localName === "text" ? words(each) + " " : "") + value.toFixed(2));
      const marks = all("path, line, rect, circle, polygon", svg)
        .filter((each) => !each.matches(PALE) && !each.closest(PALE + ", defs"));
      return weak(all("text", svg), wordContrast, 4.5).concat(weak(marks, markContrast, 3));
    });
  }

  // What the tabulator key should reach, in the order of the page; a group of radio buttons is one.
  function controls() {
    return all("a[href], button, input, select, textarea, summary, [tabindex]")
      .filter((each) => each.tabIndex >= 0 && !each.disabled && shown(each))
      .filter((each) => each.type !== "radio" || each.checked);
  }

  const place = (element) => {
    const box = element.getBoundingClientRect();
    return [box.top + scrollY, box.bottom + scrollY];
  };

  // Links in running text are as high as its lines; all else is as high as a finger is wide.
  function small(least) {
    return controls().filter((each) => !each.closest("p, pre, .skip, .scroll"))
      .map((each) => [each, (each.closest("label, .wbr-card") || each).getBoundingClientRect()])
      .filter(([, box]) => box.height < least - 0.5)
      .map(([each, box]) => name(each) + " " + each.textContent.trim() + " " + box.height);
  }

  function record() {
    window.reached = [];
    const known = controls();
    addEventListener("focusin", (event) => {
      const style = getComputedStyle(event.target);
      window.reached.push({
        index: known.indexOf(event.target),
        name: name(event.target) + " " + event.target.textContent.trim().slice(0, 40),
        place: place(event.target),
        ringed: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
      });
    });
    return known.length;
  }

  const open = () => all("details").forEach((each) => { each.open = true; });

  return {
    all, charts, clipped, controls, faint, label, name, open, overlapping, record, shown, small,
    smallest, wide,
  };
})();
