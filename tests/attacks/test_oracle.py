import numpy as np
import pytest

from attacks.fakes import opposite, probabilities, rows
from cfmark.attacks import LocalOracle, dual_cf, mrce, query
from cfmark.errors import BudgetExceeded
from cfmark.types import BoolArray, FloatArray

X = rows(10)


class Model:
    def predict_proba(self, x: FloatArray) -> FloatArray:
        return probabilities(x)


def issue(x: FloatArray) -> tuple[FloatArray, BoolArray]:
    found = np.ones((len(x), 2), bool)
    found[0, 1] = False
    return np.stack([opposite(x), opposite(x, 1)], axis=1), found


def test_answers_are_the_models_and_what_is_issued() -> None:
    oracle = LocalOracle(Model(), issue)
    np.testing.assert_array_equal(oracle.predict(X), probabilities(X))
    cf, found = oracle.explain(X)
    np.testing.assert_array_equal(cf, issue(X)[0])
    np.testing.assert_array_equal(found, issue(X)[1])
    assert (oracle.predicted, oracle.explained, oracle.requests) == (10, 10, 20)


@pytest.mark.parametrize("attack", [query, mrce, dual_cf])
@pytest.mark.parametrize("assumed", [False, True])
def test_an_attack_knows_how_much_it_asked(attack: object, assumed: bool) -> None:
    oracle = LocalOracle(Model(), issue)
    assert callable(attack)
    assert attack(oracle, X, assumed=assumed).requests == oracle.requests > 0


def test_the_budget_is_kept_to_the_row() -> None:
    oracle = LocalOracle(Model(), issue, budget=25)
    oracle.predict(X)
    oracle.explain(X)
    with pytest.raises(BudgetExceeded, match=r"counterfactuals for 6 rows .* 5 of the budget of 25"):
        oracle.explain(X[:6])
    with pytest.raises(BudgetExceeded, match=r"10 were sent for probabilities and 10 for counterf"):
        oracle.predict(X)
    assert oracle.requests == 20
    assert oracle.predict(X[:5]).shape == (5, 2)
    with pytest.raises(BudgetExceeded, match="but 0 of the budget"):
        oracle.predict(X[:1])
