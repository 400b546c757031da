"""A scikit-learn pipeline that was fitted on a raw table, explained without its gradients.

Methods that need gradients learn a stand-in of the model; every answer is checked on the model itself.
"""

import jax
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cfmark

dataset = cfmark.load("synthetic", rows=600)
table = dataset.encoder.decode(dataset.train.x)  # the table's own columns and units
one_hot = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
model = make_pipeline(one_hot, LogisticRegression())
model.fit(table, dataset.train.y)

classifier = cfmark.adapt(model, dataset)
for method in ("growing_sphere", "dice"):  # cchvae goes the same way
    key_fit, key_explain = jax.random.split(jax.random.key(0))
    explainer = cfmark.fit_explainer(key_fit, method, dataset, classifier)
    explanations = cfmark.explain(key_explain, explainer, dataset.query.x[:16])
    measured = cfmark.quality(explanations, dataset.encoder, classifier)
    print(f"{method:15} found {measured.found:4.0%}   valid {measured.validity:4.0%}   L1 {measured.l1:.2f}")
