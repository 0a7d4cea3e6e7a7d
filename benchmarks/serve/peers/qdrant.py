"""Relevance feedback of Qdrant's client in local mode, in front of the same simulated people."""

import numpy as np
from qdrant_client import QdrantClient, models


def main(given):
    X = given["X"]
    client = QdrantClient(":memory:")
    client.create_collection("a", vectors_config=models.VectorParams(size=X.shape[1], distance=models.Distance.EUCLID))
    points = [models.PointStruct(id=i, vector=x.tolist()) for i, x in enumerate(X)]
    for start in range(0, len(points), 2000):
        client.upsert("a", points[start : start + 2000])
    strengths = (0.1, 0.3, 1.0, 3.0)
    means = [np.mean([visit(client, given, int(q), c)[1:] for q in given["tune"]]) for c in strengths]
    best = strengths[int(np.argmax(means))]
    return [visit(client, given, int(q), best) for q in given["test"]]


def visit(client, given, query, strength):
    y, shown = given["y"], int(given["shown"])
    rng = np.random.default_rng(query)  # the same wrong clicks as in front of the others
    clicked, scores = {}, []
    for clicks in (*given["visit"], 0):
        best = rank(client, given["X"], query, clicked, strength, shown + len(clicked) + 1)
        best = [i for i in best if i != query and i not in clicked][:shown]
        scores.append(float(np.mean(y[best] == y[query])))
        for item in best[: int(clicks)]:
            liked = (y[item] == y[query]) != (rng.random() < given["wrong"])
            clicked[item] = 1.0 if liked else 0.0
    return scores


def rank(client, X, query, clicked, strength, limit):
    if len(set(clicked.values())) < 2:
        found = client.query_points("a", query=X[query].tolist(), limit=limit)
    else:
        feedback = [models.FeedbackItem(example=i, score=score) for i, score in clicked.items()]
        params = models.NaiveFeedbackStrategyParams(a=1.0, b=1.0, c=strength)
        strategy = models.NaiveFeedbackStrategy(naive=params)
        given = models.RelevanceFeedbackInput(target=X[query].tolist(), feedback=feedback, strategy=strategy)
        found = client.query_points("a", query=models.RelevanceFeedbackQuery(relevance_feedback=given), limit=limit)
    return [point.id for point in found.points]
