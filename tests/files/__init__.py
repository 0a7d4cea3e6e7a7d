"""Files as released versions wrote them, and what they answer."""
