(function () {
  "use strict";
  var doc = document;
  function get(id) { return doc.getElementById(id); }

  // A link into a closed part opens it.
  function reveal() {
    var at = null;
    try { at = get(decodeURIComponent(location.hash.slice(1))); } catch (error) { return; }
    for (var up = at; up; up = up.parentElement) if (up.localName === "details") up.open = true;
    if (at && at.localName === "section" && at.id === "details") at.querySelector("details").open = true;
    if (at) at.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  // Paper shows every table; the screen gets back what it had.
  var closed = [];
  addEventListener("beforeprint", function () {
    closed = Array.from(doc.querySelectorAll("details:not([open])"));
    closed.forEach(function (each) { each.open = true; });
  });
  addEventListener("afterprint", function () {
    closed.forEach(function (each) { each.open = false; });
  });

  if (navigator.clipboard) doc.querySelectorAll("button.copy").forEach(function (button) {
    var label = button.firstChild;
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(get(button.dataset.copy).textContent).then(function () {
        label.data = "Copied";
        setTimeout(function () { label.data = "Copy"; }, 2000);
      }, function () { label.data = "Not copied: select the text"; });
    });
  });

  // The bridge: two sliders or the pointer pick the nearest weighting that was tried.
  var bridge = (JSON.parse(get("result").textContent).pictures || {}).bridge;
  var probe = get("probe"), svg = doc.querySelector("#fig-bridge svg");
  if (!bridge || !probe || !svg) return;
  var sliders = [get("probe-lam"), get("probe-alpha")], out = get("probe-out");
  var cursor = svg.querySelector(".wb-cursor"), map = svg.dataset;
  function unique(values) {
    return Array.from(new Set(values)).sort(function (a, b) { return a - b; });
  }
  var axes = [unique(bridge.lam), unique(bridge.alpha)], tried = [bridge.lam, bridge.alpha];
  function nearest(distance) {
    var best = 0, least = Infinity;
    bridge.lam.forEach(function (_, i) {
      var d = distance(i);
      if (d < least) { least = d; best = i; }
    });
    return best;
  }
  function width(k) { return axes[k][axes[k].length - 1] - axes[k][0] || 1; }
  function picked() {
    var at = sliders.map(function (slider, k) { return axes[k][slider.value]; });
    return nearest(function (i) {
      var lam = tried[0][i], isEnd = lam === 0 || lam === 1;  // there alpha has no effect
      var off = isEnd ? 0 : (tried[1][i] - at[1]) / width(1);
      return Math.pow((lam - at[0]) / width(0), 2) + Math.pow(off, 2);
    });
  }
  function digits(value, n) { return value.toFixed(n).replace("-", "\u2212"); }
  function show(i) {
    var loss = bridge.loss[i], error = bridge.standard_error[i], apart = (bridge.apart || [])[i];
    sliders.forEach(function (slider, k) {
      slider.setAttribute("aria-valuetext", digits(tried[k][i], 2));
    });
    out.textContent = "lam " + digits(tried[0][i], 2) + ", alpha " + digits(tried[1][i], 2) + ": " +
      (loss === null ? "no loss, the fit failed" : bridge.loss_name + " " + loss.toPrecision(3) +
      (error === null ? "" : " \u00b1 " + error.toPrecision(1) + (apart === undefined ? "" :
      apart <= 2 ? ", as good as the best" : ", " + +apart.toPrecision(2) + " standard errors worse")));
    if (cursor && map.x0 !== undefined) {
      cursor.setAttribute("transform", "translate(" + (+map.x0 + map.x1 * bridge.x[i]) + " " +
        (+map.y0 + map.y1 * bridge.y[i]) + ")");
      cursor.style.display = "inline";
    }
  }
  function choose(i) {
    sliders.forEach(function (slider, k) { slider.value = axes[k].indexOf(tried[k][i]); });
    show(i);
  }
  function point(event) {
    var place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    choose(nearest(function (i) {
      return Math.pow(+map.x0 + map.x1 * bridge.x[i] - place.x, 2) +
        Math.pow(+map.y0 + map.y1 * bridge.y[i] - place.y, 2);
    }));
  }
  sliders.forEach(function (slider, k) {
    slider.max = axes[k].length - 1;
    slider.addEventListener("input", function () { show(picked()); });
  });
  if (map.x0 !== undefined) ["pointermove", "pointerdown"].forEach(function (kind) {
    svg.addEventListener(kind, point);
  });
  probe.hidden = false;
  choose(nearest(function (i) {
    return Math.abs(bridge.lam[i] - bridge.chosen.lam) + Math.abs(bridge.alpha[i] - bridge.chosen.alpha);
  }));
})();
