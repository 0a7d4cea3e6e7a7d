"""Texts are asked for by the encoder that people bring, and by no other."""

import sys
import types

import numpy as np
import pytest

from gramian.cli import main
from gramian.service import Space
from gramian.service.models import TextEncoder

WORDS = ["red", "green", "blue", "round", "square", "[PAD]", "[UNK]"]


def encode(texts):
    """How often each of five words stands in each text."""
    return [[text.split().count(word) for word in WORDS[:5]] for text in texts]


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("my_encoder")
    module.encode, module.short, module.other, module.value = encode, lambda texts: [[1.0]], lambda t: encode(t), 3
    monkeypatch.setitem(sys.modules, "my_encoder", module)
    return module


@pytest.fixture
def folder(tmp_path):
    """An ONNX model that gives each token a vector, with a tokenizer of whole words."""
    onnx, tokenizers = pytest.importorskip("onnx"), pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    table = onnx.numpy_helper.from_array(np.eye(len(WORDS), 5, dtype=np.float32), "table")
    ids, mask = (onnx.helper.make_tensor_value_info(n, 7, ["n", "t"]) for n in ("input_ids", "attention_mask"))
    out = onnx.helper.make_tensor_value_info("out", 1, ["n", "t", 5])
    nodes = [onnx.helper.make_node("Gather", ["table", "input_ids"], ["out"])]
    graph = onnx.helper.make_graph(nodes, "g", [ids, mask], [out], [table])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    place = tmp_path / "model"
    place.mkdir()
    onnx.save(model, str(place / "model.onnx"))
    words = tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def test_an_onnx_folder_gives_the_mean_of_its_tokens(folder):
    encoder = TextEncoder.load(str(folder))
    assert encoder.width == 5
    counts = np.array(encode(["red round round", "blue"]), float)
    np.testing.assert_allclose(encoder.encode(["red round round", "blue"]), counts / [[3], [1]], atol=1e-6)
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Normalize"}]')
    units = TextEncoder.load(str(folder)).encode(["red round round"])
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"must hold tokenizer.json"):
        TextEncoder.load(str(folder))


def test_texts_are_asked_for_and_the_encoder_is_remembered(tmp_path, module):
    texts = ["red round", "red square", "blue round", "green"]
    encoder = TextEncoder.load("my_encoder:encode")
    with Space(tmp_path / "s", learning=False) as space:
        space.create("a", 5)
        space.add("a", encoder.encode(texts))
        with pytest.raises(ValueError, match="no encoder for texts; give a vector"):
            space.query("a", text="blue")
        space.use_encoder("a", encoder)
        assert space.query("a", text="round blue", k=2)["ids"] == [2, 0] and space.encodes("a") == ["text"]
        with pytest.raises(ValueError, match="x or text, got both"):
            space.query("a", [0.0] * 5, text="blue")
    with Space(tmp_path / "s", learning=False) as space:
        with pytest.raises(ValueError, match="start the server with --encoder my_encoder:encode"):
            space.query("a", text="blue")
        with pytest.raises(ValueError, match="must be 'my_encoder:encode', by which .* got 'my_encoder:other'"):
            space.use_encoder("a", TextEncoder.load("my_encoder:other"))
        space.create("b", 4)
        with pytest.raises(ValueError, match="gives 5 numbers a text, but the vectors of 'b' have 4"):
            space.use_encoder("b", encoder)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("my_encoder:nothing", "names no function"),
        ("my_encoder:value", "must be a function of a list of texts, got 3"),
        ("nowhere/at/all", "no folder with an .onnx file and no module:function|no model of sentence-transformers"),
    ],
)
def test_what_is_no_encoder_is_one_sentence(module, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        TextEncoder.load(name)


def test_an_encoder_gives_a_row_for_each_text(module):
    with pytest.raises(ValueError, match="a row for each of 2 texts, got 1"):
        TextEncoder.load("my_encoder:short").encode(["a", "b"])


def test_the_command_fills_a_space_by_texts_alone_and_answers_them(tmp_path, module, monkeypatch):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from gramian.service import http

    answers = []

    def asked(space, **server):
        client = TestClient(http.create_app(space), base_url="http://127.0.0.1")
        found = client.post("/v1/collections/t/query", content='{"text": "blue round", "k": 1}')
        answers.append((found.json()["meta"], client.get("/v1/collections/t/about").json()["encodes"]))

    monkeypatch.setattr(http, "serve", asked)
    (tmp_path / "t.csv").write_text("what\nred round\nblue round\ngreen square\n")
    arguments = ["serve", str(tmp_path / "t.csv"), "--texts", "what", "--encoder", "my_encoder:encode"]
    assert main([*arguments, "--space", str(tmp_path / "s"), "--no-browser"]) == 0
    assert answers == [([{"text": "blue round"}], ["text"])]
