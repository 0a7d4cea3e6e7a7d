"""The log on disk: what was committed comes back, a torn tail does not, damage is not passed over."""

import pytest

from gramian.persist import PersistError
from gramian.search.journal import Journal, decode, encode


def test_records_come_back_in_order(tmp_path):
    journal = Journal(tmp_path / "log")
    for i in range(5):
        journal.append({"i": i, "text": "é\n"})
    assert list(journal) == []
    journal.commit()
    journal.append({"lost": True})
    journal.close()
    again = Journal(tmp_path / "log")
    assert [record["i"] for record in again] == [0, 1, 2, 3, 4]
    assert (again.count, again.dropped) == (5, 0)
    again.append({"i": 5})
    again.commit()
    assert len(list(again)) == 6


def test_a_cut_at_any_byte_of_the_last_record_is_dropped(tmp_path):
    path = tmp_path / "log"
    journal = Journal(path)
    for i in range(3):
        journal.append([i, "some text"])
        journal.commit()
    whole, last = path.read_bytes(), len(encode([2, "some text"]))
    for cut in range(1, last + 1):
        path.write_bytes(whole[:-cut])
        again = Journal(path)
        assert [record[0] for record in again] == [0, 1]
        assert again.dropped == last - cut
        again.append("more")
        again.commit()
        again.close()
        assert list(Journal(path))[-1] == "more"


def test_a_flipped_bit_in_the_last_record_is_dropped(tmp_path):
    path = tmp_path / "log"
    good = encode({"a": 1})
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(good + bytes(bad))
        assert list(Journal(path)) == [{"a": 1}]


def test_damage_before_good_records_raises(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(encode(1) + b"garbage\n" + encode(2))
    with pytest.raises(PersistError, match="damaged at byte"):
        Journal(path)


def test_lines_check_themselves():
    assert decode(encode({"x": [1.5, 2]})) == {"x": [1.5, 2]}
    for bad in (b"", b"\n", b"zzzzzzzz {}\n", encode(1)[:-1]):
        with pytest.raises(ValueError):
            decode(bad)
    with pytest.raises(ValueError):
        encode(float("nan"))
