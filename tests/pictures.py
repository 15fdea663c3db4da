"""What every picture must keep: words inside the figure, tick labels apart."""

import matplotlib as mpl
import matplotlib.pyplot as plt

mpl.use("agg")


def _tick_labels(axis):
    """Return the labels of the ticks that lie within the axis."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    labels = axis.get_ticklabels()
    if not labels:  # another axis has them
        return []
    return [
        label
        for place, label in zip(axis.get_ticklocs(), labels, strict=True)
        if low - room <= place <= high + room and label.get_visible() and label.get_text()
    ]


def _words(figure):
    found = [text for legend in figure.legends for text in legend.get_texts()]
    for ax in figure.axes:
        found += [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        found += [ax.xaxis.get_offset_text(), ax.yaxis.get_offset_text()]
        found += [*_tick_labels(ax.xaxis), *_tick_labels(ax.yaxis)]
        if ax.get_legend() is not None:
            found += ax.get_legend().get_texts()
    return [text for text in found if text.get_text()]


def clipped_words(figure):
    """Return the words that do not lie within the figure, by more than a pixel."""
    renderer = figure.canvas.get_renderer()
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in _words(figure)]
    return [
        words for words, box in boxes if min(box.x0, box.y0, width - box.x1, height - box.y1) < -1
    ]


def overlapping_labels(figure):
    """Return neighbouring tick labels that overlap; turned ones are not compared."""
    renderer = figure.canvas.get_renderer()
    found = []
    for ax in figure.axes:
        for labels in (_tick_labels(ax.xaxis), _tick_labels(ax.yaxis)):
            level = [label for label in labels if label.get_rotation() == 0]
            boxes = [label.get_window_extent(renderer) for label in level]
            found += [
                (level[place].get_text(), level[place + 1].get_text())
                for place in range(len(level) - 1)
                if boxes[place].overlaps(boxes[place + 1])
            ]
    return found


def faults(display):
    """Return what cannot be read in a drawn display; closes its figure."""
    figure = display.figure_
    figure.canvas.draw()
    found = clipped_words(figure) + overlapping_labels(figure)
    plt.close(figure)
    return found
