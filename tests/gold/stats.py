"""Writes stats.json: scores with ties and what scikit-learn makes of them."""
import json
import os

import numpy as np
from sklearn import metrics

rng = np.random.default_rng(7)
cases = []
for n, digits, prevalence in ((40, 1, 0.5), (200, 2, 0.3), (300, 6, 0.7), (12, 0, 0.5)):
    label = (rng.random(n) < prevalence).astype(int)
    score = np.clip(np.round(0.25 * label + 0.75 * rng.random(n), digits), 0, 1)
    logit = 3 * np.round(rng.normal(label - 0.5, 1.5, n), 4)
    precision, recall, _ = metrics.precision_recall_curve(label, score)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    temperatures = np.exp(np.linspace(np.log(0.05), np.log(20), 200001))
    nll = [np.mean(np.logaddexp(0, np.where(label == 1, -logit, logit) / t)) for t in temperatures[::100]]
    near = int(np.argmin(nll)) * 100
    fine = temperatures[max(near - 200, 0):near + 200]
    nll = [np.mean(np.logaddexp(0, np.where(label == 1, -logit, logit) / t)) for t in fine]
    cases.append({
        "score": score.tolist(), "label": label.tolist(), "logit": logit.tolist(),
        "ap": metrics.average_precision_score(label, score), "auc": metrics.roc_auc_score(label, score),
        "brier": metrics.brier_score_loss(label, score), "best_f1": float(f1.max()),
        "nll": float(metrics.log_loss(label, 1 / (1 + np.exp(-logit)))), "temperature": float(fine[int(np.argmin(nll))]),
    })
with open(os.path.join(os.path.dirname(__file__), "stats.json"), "w") as f:
    json.dump(cases, f)
    f.write("\n")
