"""The library from data to an explanation: load, train, explain, measure, and say it in words."""

import jax

import cfmark
from cfmark.explainers import changes

dataset = cfmark.load("cancer")
classifier = cfmark.fit_classifier(jax.random.key(0), dataset)
explainer = cfmark.fit_explainer(jax.random.key(1), "growing_sphere", dataset, classifier, n_cfs=2)
explanations = cfmark.explain(jax.random.key(2), explainer, dataset.query.x[:16])

measured = cfmark.quality(explanations, dataset.encoder, classifier)
print(f"{measured.queries} queries: found {measured.found:.0%}, valid {measured.validity:.0%}")
print(f"on average {measured.changed:.1f} features change, L1 {measured.l1:.2f}")

labels = dataset.schema.labels
print(f"\nThe first query would be {labels[explanations.target[0]]} with either of:")
for cf in explanations.cf[0][explanations.found[0]]:
    print("  " + "; ".join(changes(dataset.encoder, explanations.x[0], cf)))
