"""Pictures of what was chosen and why; matplotlib is imported when one is drawn."""

from weighbridge.plotting._bridge import BridgeDisplay

__all__ = ["BridgeDisplay"]
