"""What is drawn in a terminal."""

import numpy as np


def test_images_in_the_terminal_name_their_labels_and_strike_out_the_wrong_ones():
    from gramian.cli.screen import glyphs

    image = np.array([0.0, 16, 16, 0])
    text = glyphs((image, 7), [[(image, 7), (image, 1)]], (2, 2))
    pixels, labels = text.plain.strip("\n").split("\n")
    assert pixels.split() == ["▀▀"] * 3 and labels.split() == ["7", "7", "1"]
    struck = [text.plain[span.start : span.end].strip() for span in text.spans if "strike" in str(span.style)]
    assert struck == ["1"]
