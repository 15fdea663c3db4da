"""Two small networks, ``head(body(x))``; inputs are from 0 to 1, and seeds are set outside."""

from torch import nn


class LeNet(nn.Module):
    """LeNet-5 with rectified units and maxima: images (n, channels, size, size), or flat rows."""

    def __init__(self, channels=1, size=28, classes=10):
        super().__init__()
        side = (size // 2 - 4) // 2  # the first convolution is padded, the second is not
        if side < 1:
            raise ValueError(f"got images of side {size}, but LeNet needs at least 12")
        self.body = nn.Sequential(
            nn.Flatten(),
            nn.Unflatten(1, (channels, size, size)),
            nn.Conv2d(channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * side * side, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
        )
        self.head = nn.Linear(84, classes)

    def forward(self, x):
        """Return a score for each class."""
        return self.head(self.body(x))


class Small(nn.Module):
    """Multilayer perceptron for digits and mnist1d; images are flattened."""

    def __init__(self, n_features, hidden=(64, 32), n_classes=10):
        super().__init__()
        layers = [nn.Flatten()]
        for before, after in zip((n_features, *hidden), hidden, strict=False):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear((n_features, *hidden)[-1], n_classes)

    def forward(self, x):
        """Return a score for each class."""
        return self.head(self.body(x))
