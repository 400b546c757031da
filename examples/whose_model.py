"""A thief learns from marked counterfactuals, an innocent asks for predictions alone, and both are tested."""

import jax

import cfmark
from cfmark.attacks import LocalOracle, mrce, query
from cfmark.calibration import CalibrationConfig, calibrate
from cfmark.watermark import BilevelConfig

dataset = cfmark.load("cancer")
classifier = cfmark.fit_classifier(jax.random.key(0), dataset)
explainer = cfmark.fit_explainer(jax.random.key(1), "cchvae", dataset, classifier)
explanations = cfmark.explain(jax.random.key(2), explainer, dataset.query.x[:64])
config = BilevelConfig(steps=20, proximity=0.02)
pairs, _ = cfmark.embed(jax.random.key(3), explanations, classifier, dataset, config)
print(f"{pairs.paired.sum()} of {pairs.found.sum()} counterfactuals carry a mark")

service = LocalOracle(classifier, lambda x: (pairs.issued, pairs.found))  # answers about these queries alone
stolen, asked = mrce(service, pairs.x), query(service, pairs.x)
shadows = CalibrationConfig(fit=20, rank=39, power=0)
calibration = calibrate(jax.random.key(4), {"mrce": stolen}, {"queries": asked}, pairs, shadows)

for name, transcript in {"thief": stolen, "innocent": asked}.items():
    suspect = cfmark.extract(jax.random.key(5), transcript)
    for test in ("t", "calibrated"):
        print(f"{name:9}", cfmark.verify(suspect, pairs, test, calibration=calibration))
