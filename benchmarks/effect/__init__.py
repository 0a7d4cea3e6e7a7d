"""What a user gains: precision of the ten nearest on unseen points and classes, from few labels."""
