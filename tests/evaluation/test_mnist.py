import numpy as np
import pytest

from cfmark.data import is_present
from cfmark.evaluation.mnist import COLUMNS, CaseStudy, case_study, picture


@pytest.fixture(scope="module")
def study() -> CaseStudy:
    if not is_present("mnist01"):
        pytest.skip("the files of mnist01 are not here: CFMARK_DATA names no folder that has them")
    return case_study(queries=16, shown=2)


@pytest.mark.files
def test_digits_are_marked_within_the_bound_and_stay_valid(study: CaseStudy) -> None:
    assert study.facts["queries"] == 16
    assert study.facts["marked"] > 8
    assert study.facts["validity_after"] == study.facts["found"] / 16
    assert 0 < study.facts["mean_change"] < study.facts["largest_change"] <= study.delta + 0.5 / 255
    assert study.pairs.target[study.chosen].tolist() == [1, 0]


@pytest.mark.files
def test_the_picture_shows_what_was_marked(study: CaseStudy) -> None:
    figure = picture(study)
    panels = np.array(figure.axes[: 2 * len(COLUMNS)]).reshape(2, len(COLUMNS))
    assert [axis.get_title(loc="left") for axis in panels[0]] == list(COLUMNS)
    original, counterfactual, marked, difference = (axis.images[0].get_array() for axis in panels[1])
    row = study.chosen[1]
    np.testing.assert_array_equal(original.ravel(), study.pairs.x[row])
    np.testing.assert_array_equal(counterfactual.ravel(), study.pairs.counterpart[row, 0])
    np.testing.assert_allclose(difference, marked - counterfactual)
    assert np.abs(difference).max() > 0.5 / 255
