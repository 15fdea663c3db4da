"""Networks with weights: what they are told acts, and all that takes an estimator takes them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from weighbridge import (
    Geodesic,
    ImportanceWeighted,
    ImportanceWeightedCV,
    adapt,
    assess,
    diagnose,
    fit_ratio,
    iw_scorer,
)
from weighbridge.conformal import ConformalClassifier, ConformalRegressor
from weighbridge.exceptions import InputError, OverlapWarning, WeightWarning
from weighbridge.ratios import ULSIF, KnownRatio
from weighbridge.target_risk import estimate_risk
from weighbridge.weighting import ERM, IWERM, RIWERM

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
pytestmark = pytest.mark.torch

from skorch import callbacks  # noqa: E402
from torch import nn  # noqa: E402

from weighbridge.torch import (  # noqa: E402
    Beyond,
    DynamicWeights,
    ImportanceWeightedNet,
    PolynomialLoss,
    WeightedNetClassifier,
    WeightedNetRegressor,
    last_layer,
)


class Mlp(nn.Module):
    """Two layers; made anew by every fit."""

    def __init__(self, width=2, hidden=8, outputs=2, bias=True):
        super().__init__()
        self.body = nn.Linear(width, hidden)
        self.head = nn.Linear(hidden, outputs, bias=bias)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x.flatten(1))))


class SoftMlp(Mlp):
    def forward(self, x):
        return torch.softmax(super().forward(x), dim=1)


def classifier(kind=WeightedNetClassifier, module=Mlp, **options):
    options = {"max_epochs": 4, "lr": 0.3, "batch_size": 64, "random_state": 0} | options
    return kind(module, **options)


def regressor(**options):
    return classifier(WeightedNetRegressor, **{"lr": 0.1, "module__outputs": 1} | options)


def problem(n=300, seed=0, names=("no", "yes")):
    """Two normal samples, one shifted, and labels that depend on the product."""
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 2)), rng.normal(0.6, 1, size=(n, 2))
    y, y_target = (np.asarray(names)[(rows.prod(1) > 0).astype(int)] for rows in (X, X_target))
    return X.astype(np.float32), y, X_target.astype(np.float32), y_target


X, Y, X_TARGET, Y_TARGET = problem()
NUMBERS = X[:, 0] + X[:, 1] ** 2
RATIO = KnownRatio(lambda rows: 0.6 * (np.asarray(rows) - 0.3).sum(1))  # the true one


def parameters(net):
    net = getattr(net, "estimator_", net)
    return [each.detach().numpy().copy() for each in net.module_.parameters()]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# ---- weights act


def one_step(rows, labels, sample_weight=None, **options):
    """One step on all rows at once, from the same start."""
    torch.manual_seed(3)
    net = classifier(module=Mlp(), max_epochs=1, batch_size=-1, train_split=None, lr=1.0, **options)
    return net.fit(rows, labels, sample_weight)


def test_whole_weights_are_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = one_step(X, Y, counts)
    repeated = one_step(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    for a, b in zip(parameters(weighted), parameters(repeated), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_step_is_the_gradient_of_the_weighted_loss():
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X))
    net = one_step(X, Y, weight)
    torch.manual_seed(3)
    module = Mlp()
    losses = nn.functional.cross_entropy(
        module(torch.as_tensor(X)), torch.as_tensor((Y == "yes").astype(int)), reduction="none"
    )
    (torch.as_tensor(weight / weight.mean()).float() * losses).mean().backward()
    for stepped, start in zip(parameters(net), module.parameters(), strict=True):
        np.testing.assert_allclose(stepped, (start - start.grad).detach().numpy(), atol=1e-6)


def test_only_the_proportions_of_weights_count():
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X))
    a, b = (parameters(classifier().fit(X, Y, scale * weight)) for scale in (1, 1024))
    assert same(a, b)


def test_rows_without_weight_are_left_out():
    weight = np.ones(len(X))
    weight[::3] = 0
    with_zeros = classifier().fit(X, Y, weight)
    without = classifier().fit(X[weight > 0], Y[weight > 0])
    assert same(parameters(with_zeros), parameters(without))


def test_weights_follow_their_rows_through_splits_of_splits():
    def split(dataset, y=None, **params):
        rows = torch.utils.data.Subset(dataset, range(len(dataset) - 1, -1, -1))
        return torch.utils.data.Subset(rows, range(0, len(dataset), 2)), None

    weight = np.random.default_rng(1).uniform(0.1, 3, len(X))
    kept = np.arange(len(X))[::-1][::2]
    options = {"max_epochs": 1, "batch_size": -1}
    torch.manual_seed(0)
    start = Mlp()
    ours = classifier(module=start, train_split=split, **options).fit(X, Y, weight)
    direct = classifier(
        module=start, train_split=None, lr=0.3 * (weight[kept] / weight.mean()).mean(), **options
    )
    direct.fit(X[kept], Y[kept], weight[kept])
    for a, b in zip(parameters(ours), parameters(direct), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


class Twice(skorch.dataset.Dataset):
    def transform(self, X, y):
        return super().transform(2 * X, y)


class Asking(callbacks.Callback):
    """Lets the network predict when a batch has been drawn, and not yet learnt."""

    def on_batch_begin(self, net, batch, training, **kwargs):
        net.predict(X[::-1][:64].copy())


def test_a_data_set_of_ones_own_is_used_and_predictions_disturb_nothing():
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X))
    options = {"iterator_train__shuffle": False}  # predictions draw from the seed of torch
    plain = classifier(**options).fit(2 * X, Y, weight)
    own = classifier(dataset=Twice, **options).fit(X, Y, weight)
    asked = classifier(callbacks=[Asking()], **options).fit(2 * X, Y, weight)
    assert same(parameters(plain), parameters(own))
    assert same(parameters(plain), parameters(asked))


def test_a_train_split_that_makes_rows_is_refused():
    def split(dataset, y=None, **params):
        return torch.utils.data.TensorDataset(torch.zeros(3, 2), torch.zeros(3).long()), None

    with pytest.raises(ValueError, match="from train_split"):
        classifier(train_split=split).fit(X, Y)


# ---- seeds, copies, states


def test_the_same_seed_gives_the_same_bits():
    torch.manual_seed(1)
    a = classifier().fit(X, Y)
    before = torch.random.get_rng_state()
    b = classifier().fit(X, Y)
    assert same(parameters(a), parameters(b))
    assert torch.equal(before, torch.random.get_rng_state())
    models = [
        ImportanceWeightedNet(classifier(), ULSIF(), dynamic=DynamicWeights(1), weighting=IWERM())
        for _ in range(2)
    ]
    first, second = (each.fit(X, Y, X_target=X_TARGET) for each in models)
    assert same(parameters(first), parameters(second))
    assert np.array_equal(first.weights_, second.weights_)


def test_a_module_that_is_made_is_copied_not_trained():
    module = Mlp()
    start = [each.detach().clone() for each in module.parameters()]
    net = classifier(module=module)
    a, b = parameters(net.fit(X, Y)), parameters(net.fit(X, Y))
    assert same(a, b)
    assert all(torch.equal(p, q) for p, q in zip(start, module.parameters(), strict=True))


def test_clones_and_pickles():
    net = classifier(module__hidden=5)
    copied = clone(net)
    assert copied.get_params()["module__hidden"] == 5
    model = ImportanceWeightedNet(net, ULSIF()).fit(X, Y, X_target=X_TARGET)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.ratio_.score_samples(X), model.ratio_.score_samples(X))
    assert again.choice_.reason_ == model.choice_.reason_
    fresh = clone(model)
    assert not hasattr(fresh, "estimator_")
    refitted = fresh.fit(X, Y, X_target=X_TARGET)
    assert same(parameters(model), parameters(refitted))


def test_nested_parameters_are_set():
    model = ImportanceWeightedNet(classifier()).set_params(
        estimator__lr=0.01, estimator__module__hidden=3, ratio__cv=4
    )
    assert model.estimator.lr == 0.01
    assert model.get_params()["estimator__module__hidden"] == 3
    assert model.ratio.cv == 4
    assert model.fit(X, Y, X_target=X_TARGET).estimator_.module_.body.out_features == 3


class Failing(callbacks.Callback):
    """Fails in the second epoch, in the way it is told."""

    def __init__(self, error):
        self.error = error

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) == 2:
            raise self.error


def state(model):
    return {name: id(value) for name, value in vars(model).items() if name != "callbacks"}


@pytest.mark.parametrize("fitted", [False, True])
def test_an_error_leaves_the_net_as_it_was(fitted):
    net = classifier()
    if fitted:
        net.fit(X, np.where(Y == "yes", 7, 3))
        before = net.predict_proba(X)
    net.set_params(callbacks=[Failing(RuntimeError("broke"))])
    kept = state(net)
    with pytest.raises(RuntimeError, match="broke"):
        net.fit(X, Y)
    assert state(net) == kept
    if fitted:
        assert np.array_equal(net.predict_proba(X), before)
        assert set(net.predict(X)) == {3, 7}
    else:
        assert not net.initialized_


@pytest.mark.parametrize("dynamic", [None, DynamicWeights(1)])
def test_an_error_leaves_the_weighted_net_as_it_was(dynamic):
    model = ImportanceWeightedNet(classifier(), ULSIF(), dynamic=dynamic, weighting=IWERM())
    model.fit(X, Y, X_target=X_TARGET)
    model.estimator.set_params(callbacks=[Failing(RuntimeError("broke"))])
    kept = state(model)
    with pytest.raises(RuntimeError, match="broke"):
        model.fit(X[:200], Y[:200], X_target=X_TARGET)
    assert state(model) == kept


def test_an_interrupt_ends_the_training_and_the_rest_goes_on():
    stopped = classifier(callbacks=[Failing(KeyboardInterrupt())])
    assert len(stopped.fit(X, Y).history) == 2
    assert set(stopped.predict(X)) <= {"no", "yes"}
    model = ImportanceWeightedNet(stopped, ULSIF()).fit(X, Y, X_target=X_TARGET)
    assert len(model.estimator_.history) == 2
    assert model.weights_.shape == (300,)


def test_warm_start_and_partial_fit_go_on():
    net = classifier(warm_start=True).fit(X, Y)
    first = parameters(net)
    assert len(net.fit(X, Y).history) == 8
    assert not same(first, parameters(net))
    three = classifier(module__outputs=3)
    three.partial_fit(X, Y, classes=["maybe", "no", "yes"], sample_weight=np.ones(len(X)))
    assert three.classes_.tolist() == ["maybe", "no", "yes"]
    with pytest.raises(ValueError, match="'never' in y"):
        three.partial_fit(X[:9], ["never"] * 9)
    assert len(three.partial_fit(X, Y).history) == 8


# ---- what nets are fitted to, and with


@pytest.mark.parametrize("labels", [("no", "yes"), (3, 7), (-1.0, 1.0), (False, True)])
@pytest.mark.parametrize("frame", [False, True])
def test_labels_of_any_name_and_frames(labels, frame):
    rows, y, target, y_target = problem(names=labels)
    if frame:
        rows, target = (pd.DataFrame(each, columns=["a", "b"]) for each in (rows, target))
        y = pd.Series(y, index=range(50, 350))
    model = ImportanceWeightedNet(classifier(max_epochs=12), ULSIF()).fit(rows, y, X_target=target)
    assert model.classes_.tolist() == list(labels)
    assert model.score(target, y_target) > 0.8
    assert model.n_features_in_ == 2
    assert hasattr(model, "feature_names_in_") == frame
    if frame:
        with pytest.raises(ValueError, match="feature names"):
            model.predict(target[["b", "a"]])
        with pytest.raises(ValueError, match="feature names"):
            model.fit(rows, y, X_target=target[["b", "a"]])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dynamic", [None, DynamicWeights(1)])
def test_two_and_more_classes_with_and_without_bias(bias, n_classes, dynamic):
    y = np.arange(n_classes)[np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])]
    net = classifier(max_epochs=10, module__outputs=n_classes, module__bias=bias)
    model = ImportanceWeightedNet(net, ULSIF(), dynamic=dynamic).fit(X, y, X_target=X_TARGET)
    assert model.predict_proba(X).shape == (300, n_classes)
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1, atol=1e-6)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("shape", [(300,), (300, 1)])
def test_numbers_in_a_vector_or_a_column(shape):
    net = regressor(max_epochs=30)
    model = ImportanceWeightedNet(net).fit(X, NUMBERS.reshape(shape), X_target=X_TARGET)
    assert model.predict(X).shape == (300,)
    assert model.score(X, NUMBERS) > 0.7
    assert net.fit(X, NUMBERS.reshape(shape)).predict(X).shape == (300,)


def test_numbers_with_several_columns_are_for_the_net_alone():
    two = np.column_stack([NUMBERS, -NUMBERS])
    net = regressor(module__outputs=2).fit(X, two)
    assert net.predict(X).shape == (300, 2)
    with pytest.raises(ValueError, match="one label per row"):
        ImportanceWeightedNet(net).fit(X, two, X_target=X_TARGET)


@pytest.mark.parametrize(
    ("module", "criterion"),
    [(SoftMlp, nn.NLLLoss), (Mlp, PolynomialLoss), (Mlp, nn.MultiMarginLoss)],
)
def test_other_losses(module, criterion):
    net = classifier(module=module, criterion=criterion, max_epochs=20).fit(X, Y)
    assert net.score(X, Y) > 0.8
    if criterion is nn.MultiMarginLoss:
        return
    np.testing.assert_allclose(net.predict_proba(X).sum(1), 1, atol=1e-6)
    model = ImportanceWeightedNet(net, ULSIF(), weighting=IWERM()).fit(X, Y, X_target=X_TARGET)
    head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    features = last_layer(model).transform(X)
    head.fit(features, Y, logisticregression__sample_weight=model.weights_)
    np.testing.assert_allclose(model.predict_proba(X), head.predict_proba(features), atol=1e-5)


def test_images():
    from sklearn.datasets import load_digits

    digits = load_digits(n_class=3)
    images, y = digits.images[:400] / 16, digits.target[:400]
    net = classifier(module__width=64, module__outputs=3, max_epochs=10)
    model = ImportanceWeightedNet(net, ULSIF()).fit(images, y, X_target=images[200:] * 0.8)
    assert model.score(images, y) > 0.9
    assert model.ratio_.score_samples(images).shape == (400,)
    assert model.n_features_in_ == 64
    with pytest.raises(ValueError, match="expecting 64 features"):
        model.predict(images[:, :4])
    flat = KnownRatio(lambda rows: rows[:, :64].mean(1))
    known = ImportanceWeightedNet(net, flat, weighting=IWERM()).fit(images, y)
    expected = images.reshape(400, -1).mean(1)
    np.testing.assert_allclose(np.ptp(known.log_ratio_ - expected), 0, atol=1e-6)


def test_callbacks_of_skorch():
    net = classifier(
        max_epochs=12,
        callbacks=[
            callbacks.EpochScoring("accuracy", on_train=True, name="train_acc"),
            callbacks.EpochScoring(
                "accuracy", on_train=True, name="plain", use_caching=False, lower_is_better=False
            ),
            callbacks.LRScheduler("StepLR", step_size=1, gamma=0.5),
            callbacks.EarlyStopping(patience=2, threshold=10, threshold_mode="abs"),
        ],
    ).fit(X, Y, np.linspace(0, 1, 300))
    assert len(net.history) < 12
    assert net.history[-1, "train_acc"] > 0.5
    assert net.history[-1, "plain"] > 0.5
    assert net.history[-1, "event_lr"] == 0.3 * 0.5 ** (len(net.history) - 1)
    model = ImportanceWeightedNet(net, ULSIF()).fit(X, Y, X_target=X_TARGET)
    assert "valid_acc" in model.estimator_.history[-1]


def test_without_validation_rows():
    net = classifier(train_split=None)
    model = ImportanceWeightedNet(net, ULSIF()).fit(X, Y, X_target=X_TARGET)
    assert "valid_loss" not in model.estimator_.history[-1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dynamic", [None, DynamicWeights(1)])
def test_on_a_gpu(dynamic):
    net = classifier(device="cuda", max_epochs=12)
    model = ImportanceWeightedNet(net, ULSIF(), dynamic=dynamic).fit(X, Y, X_target=X_TARGET)
    assert next(model.estimator_.module_.parameters()).is_cuda
    assert model.score(X_TARGET, Y_TARGET) > 0.8
    again = clone(model).fit(X, Y, X_target=X_TARGET)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-4)


# ---- known answers


class Only(nn.Module):
    """Features that are the rows themselves."""

    def __init__(self, width=2, outputs=2, bias=True):
        super().__init__()
        self.head = nn.Linear(width, outputs, bias=bias)

    def forward(self, x):
        return self.head(x)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_refit_of_the_rows_themselves_is_logistic_regression(bias, n_classes):
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [0.0, 0.7][: n_classes - 1])
    net = classifier(module=Only, module__outputs=n_classes, module__bias=bias, max_epochs=1)
    model = ImportanceWeightedNet(net, RATIO, weighting=Geodesic(0.7, 2)).fit(X, y)
    plain = make_pipeline(
        StandardScaler(with_mean=bias), LogisticRegression(max_iter=200, fit_intercept=bias)
    )
    theirs = ImportanceWeighted(plain, RATIO, weighting=Geodesic(0.7, 2)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.weights_, theirs.weights_, rtol=1e-9)
    assert model.ess_ == pytest.approx(theirs.ess_)


@pytest.mark.parametrize("bias", [False, True])
def test_a_refit_of_the_rows_themselves_is_ridge(bias):
    net = regressor(module=Only, module__bias=bias, max_epochs=1)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    model = ImportanceWeightedNet(net, RATIO, weighting=IWERM()).fit(X, NUMBERS, weight)
    plain = make_pipeline(StandardScaler(with_mean=bias), Ridge(fit_intercept=bias))
    theirs = ImportanceWeighted(plain, RATIO, weighting=IWERM()).fit(X, NUMBERS, weight)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=2e-6)
    np.testing.assert_allclose(model.weights_, theirs.weights_, rtol=1e-9)


def test_without_a_shift_the_head_is_refitted_without_weights():
    none = KnownRatio(lambda rows: np.zeros(len(rows)))
    model = ImportanceWeightedNet(classifier(), none).fit(X, Y)
    assert model.weighting_.lam == 0
    features = last_layer(model.estimator_).transform(X)
    head = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(features, Y)
    np.testing.assert_allclose(model.predict_proba(X), head.predict_proba(features), atol=1e-6)
    erm = ImportanceWeightedNet(classifier(), RATIO, weighting=ERM()).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), erm.predict_proba(X), atol=1e-6)


def test_classes_may_be_named_in_any_order():
    y = np.digitize(X[:, 0], [0.0, 0.7])
    options = {"module": Only, "module__outputs": 3, "max_epochs": 1}
    plain = ImportanceWeightedNet(classifier(**options), RATIO, weighting=IWERM()).fit(X, y)
    net = classifier(classes=[2, 0, 1], **options)
    other = ImportanceWeightedNet(net, RATIO, weighting=IWERM()).fit(X, y)
    assert other.classes_.tolist() == [2, 0, 1]
    expected = plain.predict_proba(X)[:, [2, 0, 1]]
    np.testing.assert_allclose(other.predict_proba(X), expected, atol=1e-4)
    assert other.score(X, y) == plain.score(X, y)


def test_rows_drawn_by_a_known_ratio_stand_for_the_target():
    model = ImportanceWeightedNet(
        classifier(max_epochs=20), RATIO, dynamic=DynamicWeights(1, IWERM())
    )
    model.fit(X, Y)
    train = model.dynamic_.n_rows
    assert train == 240
    drawn = np.log(model.dynamic_.ratio.numpy())
    true = 0.6 * (X - 0.3).sum(1)
    kept = np.sort(train_test_split(np.arange(300), stratify=Y, test_size=0.2, random_state=0)[0])
    assert np.corrcoef(drawn, true[kept])[0, 1] > 0.8


def test_only_the_last_layer_is_refitted():
    net = classifier()
    model = ImportanceWeightedNet(net, RATIO, weighting=IWERM()).fit(X, Y)
    other = ImportanceWeightedNet(net, RATIO, weighting=ERM()).fit(X, Y)
    first, second = parameters(model), parameters(other)
    assert same(first[:2], second[:2])
    assert not same(first[2:], second[2:])


@pytest.mark.parametrize("layer", [None, "body", "head"])
def test_last_layer_gives_what_a_hook_gives(layer):
    net = classifier().fit(X, Y)
    module, seen = net.module_, []
    if layer is None:
        hook = module.head.register_forward_pre_hook(lambda m, inputs: seen.append(inputs[0]))
    else:
        hook = module.get_submodule(layer).register_forward_hook(lambda m, i, o: seen.append(o))
    module(torch.as_tensor(X))
    hook.remove()
    for each in (net, module, ImportanceWeightedNet(net)):
        if isinstance(each, ImportanceWeightedNet):
            each.estimator_ = net
        found = last_layer(each, layer).transform(X)
        np.testing.assert_allclose(found, seen[0].detach().numpy(), atol=1e-6)
    assert not module.head._forward_pre_hooks


def test_last_layer_survives_a_clone_and_a_ratio():
    net = classifier().fit(X, Y)
    see = clone(last_layer(net))
    assert see.transform(X).shape == (300, 8)
    ratio = fit_ratio(X, X_TARGET, make_pipeline(last_layer(net), ULSIF()))
    assert ratio.score_samples(X_TARGET).mean() > ratio.score_samples(X).mean()
    with pytest.raises(Exception, match="not fitted"):
        last_layer(classifier()).transform(X)


def test_the_ratio_does_not_follow_a_refit_of_its_own_layer():
    model = ImportanceWeightedNet(classifier(), ULSIF(), layer="head", weighting=IWERM())
    model.fit(X, Y, X_target=X_TARGET)
    values = model.ratio_.score_samples(X)
    assert np.ptp(values - np.log(np.exp(values).mean()) - model.log_ratio_) < 1e-9


# ---- dynamic weights


def test_dynamic_weights_on_losses_see_labels_as_the_net_does():
    """Wrong labels lose their weight, and names of classes change nothing."""
    wrong, found = np.random.default_rng(0).permutation(600) < 180, []
    for names in ((0, 1), ("a", "b")):
        rows, y, target, y_target = problem(600, names=names)
        y[wrong] = np.where(y[wrong] == names[0], names[1], names[0])
        dynamic = DynamicWeights(1, on="losses", warmup=3)
        model = ImportanceWeightedNet(classifier(max_epochs=25, lr=0.5), dynamic=dynamic)
        model.fit(rows, y, X_target=target[:100], y_target=y_target[:100])
        trained = model.weights_ != 1
        right = model.weights_[trained & ~wrong].mean()
        assert model.weights_[trained & wrong].mean() < 0.7 * right
        assert model.ratio_ is None
        assert model.dynamic_.n_rows == 480
        found.append(parameters(model))
    assert same(*found)


def test_a_weighting_of_the_dynamic_weights_is_kept_unless_there_is_another():
    dynamic = DynamicWeights(1, Geodesic(0.5, 1))
    options = {"X_target": X_TARGET}
    model = ImportanceWeightedNet(classifier(), ULSIF(), dynamic=dynamic).fit(X, Y, **options)
    assert (model.weighting_.lam, model.dynamic_.weighting.lam) == (0.5, 0.5)
    assert model.dynamic_ is not dynamic
    model.set_params(weighting=Geodesic(0.25, 1)).fit(X, Y, **options)
    assert (model.weighting_.lam, model.dynamic_.weighting.lam) == (0.25, 0.25)
    chosen = ImportanceWeightedNet(classifier(), ULSIF(), dynamic=DynamicWeights(1))
    chosen.fit(X, Y, **options)
    assert isinstance(chosen.dynamic_.weighting, Geodesic)
    assert chosen.choice_.reason_


class Half(BaseEstimator):
    """A weighting of one's own, of tensors and of arrays."""

    def __call__(self, log_ratio):
        return log_ratio / 2


@pytest.mark.parametrize("dynamic", [None, DynamicWeights(1)])
def test_a_weighting_of_ones_own(dynamic):
    models = [
        ImportanceWeightedNet(classifier(), ULSIF(), weighting=each, dynamic=dynamic)
        for each in (Half(), Geodesic(0.5, 1))
    ]
    own, ours = (each.fit(X, Y, X_target=X_TARGET) for each in models)
    np.testing.assert_allclose(own.weights_, ours.weights_, rtol=1e-4)
    np.testing.assert_allclose(own.predict_proba(X), ours.predict_proba(X), atol=1e-4)


def test_any_function_weights_losses():
    dynamic = DynamicWeights(1, lambda log_ratio: log_ratio / 2, on="losses")
    model = ImportanceWeightedNet(regressor(), dynamic=dynamic)
    model.fit(X, NUMBERS, X_target=X_TARGET, y_target=X_TARGET[:, 0] + X_TARGET[:, 1] ** 2)
    assert 0 < model.ess_ < 240
    assert model.weighting_ is dynamic.weighting


def test_an_optimizer_that_looks_at_a_batch_more_than_once():
    weight = np.where(X[:, 0] > 0, 1.0, 0.1)
    options = {"optimizer": torch.optim.LBFGS, "lr": 0.5, "batch_size": -1, "max_epochs": 5}
    assert classifier(**options).fit(X, Y, weight).score(X, Y) > 0.95


def test_beyond_is_for_the_network_and_the_full_ratio_for_its_head():
    model = ImportanceWeightedNet(classifier(), ULSIF(), dynamic=DynamicWeights(1, Beyond(1.5)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightWarning)
        model.fit(X, Y, X_target=X_TARGET)
    assert model.dynamic_.weighting.lam == 1.5
    assert (model.weighting_.lam, model.weighting_.alpha) == (1.0, 1.0)
    assert type(model.weighting_) is Geodesic


def codes_warned_of(model, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*arguments, **options)
    return {str(each.message)[:5]: each for each in caught}


def test_findings_of_dynamic_weights_are_warned_of():
    net = classifier(max_epochs=2)
    model = ImportanceWeightedNet(net, ULSIF(), dynamic=DynamicWeights(1), weighting=RIWERM(0.5))
    found = codes_warned_of(model, X, Y, X_target=X_TARGET + 3)
    assert found["WB304"].category is OverlapWarning
    assert "outside the training features" in str(found["WB304"].message)
    assert "WB304" in [each.code for each in model.dynamic_.findings()]
    easy = (X + np.sign(X[:, :1])) * 2
    model.set_params(estimator__max_epochs=400)
    found = codes_warned_of(model, easy, X[:, 0] > 0, X_target=easy[:150])
    assert found["WB308"].category is WeightWarning
    assert found["WB308"].filename == __file__
    assert "no effect" in str(found["WB308"].message)


# ---- all that takes an estimator takes a net


def weighted_net(**options):
    return ImportanceWeightedNet(classifier(**{"max_epochs": 8} | options), ULSIF())


def test_grid_search_over_the_net_and_the_weighting():
    ratio = FrozenEstimator(fit_ratio(X, X_TARGET))
    search = GridSearchCV(
        ImportanceWeightedNet(classifier(), ratio),
        {"estimator__lr": [1e-4, 0.5], "weighting": [ERM(), IWERM()]},
        scoring=iw_scorer("neg_log_loss", ratio),
        cv=2,
    ).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(search.predict(X)) == {"no", "yes"}
    chances = cross_val_predict(search.best_estimator_, X, Y, cv=2, method="predict_proba")
    assert chances.shape == (300, 2)


def dynamic_net(**options):
    return ImportanceWeightedNet(classifier(**options), dynamic=DynamicWeights(1))


@pytest.mark.parametrize("make", [classifier, weighted_net, dynamic_net])
def test_assess(make):
    verdict = assess(make(max_epochs=2), X, Y, X_TARGET, cv=2, random_state=0)
    assert verdict.shift == "moderate"
    assert verdict.model.predict(X_TARGET).shape == (300,)


def test_the_risk_of_a_fitted_net_on_the_target():
    model = weighted_net().fit(X, Y, X_target=X_TARGET)
    rows, y, target, y_target = problem(500, seed=1)
    risk = estimate_risk(FrozenEstimator(model), rows, y, target, random_state=0)
    assert risk.interval[0] < 1 - model.score(target, y_target) < risk.interval[1]


@pytest.mark.parametrize("frame", [False, True])
def test_diagnose(frame):
    rows, target = X, X_TARGET
    if frame:
        rows, target = (pd.DataFrame(each, columns=["a", "b"]) for each in (rows, target))
    model = weighted_net().fit(rows, Y, X_target=target)
    assert diagnose(model, rows, target).sentence


@pytest.mark.parametrize("frozen", [False, True])
def test_conformal_sets(frozen):
    rows, y, target, y_target = problem(500, seed=1)
    model = weighted_net()
    if frozen:
        model = FrozenEstimator(model.fit(X, Y, X_target=X_TARGET))
    sets = ConformalClassifier(model, ULSIF(), random_state=0).fit(rows, y, X_target=target)
    found = sets.predict_set(target)
    assert found[np.arange(500), (y_target == "yes").astype(int)].mean() > 0.8


@pytest.mark.parametrize("frozen", [False, True])
def test_conformal_intervals(frozen):
    rows, _, target, _ = problem(500, seed=1)
    model = ImportanceWeightedNet(regressor(max_epochs=20))
    if frozen:
        model = FrozenEstimator(model.fit(X, NUMBERS, X_target=X_TARGET))
    y, y_target = (each[:, 0] + each[:, 1] ** 2 for each in (rows, target))
    model = ConformalRegressor(model, ULSIF(), random_state=0).fit(rows, y, X_target=target)
    low, high = model.predict_interval(target).T
    assert np.mean((low <= y_target) & (y_target <= high)) > 0.8


def test_adapt_and_its_report(tmp_path):
    train = pd.DataFrame(X, columns=["a", "b"]).assign(label=Y)
    deploy = pd.DataFrame(X_TARGET, columns=["a", "b"])
    result = adapt(train, deploy, label="label", model=classifier(max_epochs=2))
    assert result.model.predict(deploy).shape == (300,)
    assert len(result.weights) == 300
    result.report(tmp_path / "report.html")
    assert "WeightedNetClassifier" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="pass the estimator inside it"):
        adapt(train, deploy, label="label", model=weighted_net())


@pytest.mark.parametrize("routing", [False, True])
def test_a_weighted_net_inside_other_estimators(routing):
    from sklearn import config_context

    with config_context(enable_metadata_routing=routing):
        model = ImportanceWeighted(classifier(), ULSIF()).fit(X, Y, X_target=X_TARGET)
        plain = classifier().fit(X, Y, sample_weight=model.weights_)
        assert same(parameters(model), parameters(plain))


def test_a_net_whose_weighting_is_searched_for():
    net = classifier(max_epochs=2)
    model = ImportanceWeightedCV(net, ULSIF(), random_state=0).fit(X, Y, X_target=X_TARGET)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.search_result_.failures == []


# ---- bad input: a clear error, before training


class Never(callbacks.Callback):
    def on_train_begin(self, net, **kwargs):
        raise AssertionError("the training has begun")


class Backwards(nn.Module):
    """Its last layer by name is the first that is run."""

    def __init__(self, inner=2):
        super().__init__()
        self.head, self.body = nn.Linear(inner, 2), nn.Linear(2, inner)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


class NoRows(nn.Module):
    reduction = "mean"

    def forward(self, output, y):
        return nn.functional.cross_entropy(output, y)


def no_training(module=Mlp, kind=WeightedNetClassifier, **options):
    return classifier(kind, module, callbacks=[Never()], **options)


ON_LOSSES = DynamicWeights(1, on="losses")
TEXT = np.full((9, 2), "1.5")


@pytest.mark.parametrize(
    ("changes", "told", "error", "words"),
    [
        ({}, {}, ValueError, "no target sample"),
        ({"dynamic": DynamicWeights(1)}, {}, ValueError, "no target sample"),
        ({"dynamic": ON_LOSSES}, {"y_target": Y_TARGET}, ValueError, "for 0 rows"),
        ({}, {"X_target": X_TARGET[:1]}, ValueError, "X_target with one row"),
        ({"ratio": ULSIF}, {"X_target": X_TARGET}, TypeError, "ULSIF"),
        ({"ratio": RATIO}, {"X_target": X_TARGET}, ValueError, "already fitted"),
        ({}, {"X_target": X_TARGET[:, :1]}, ValueError, "rows of shape .1,., but those of X"),
        ({}, {"X_target": X_TARGET[None]}, ValueError, "rows of shape"),
        ({}, {"X_target": X_TARGET[:, 0]}, ValueError, "X_target .*shape=.300,"),
        ({}, {"X_target": TEXT}, TypeError, "X_target of type ndarray and dtype <U3"),
        ({}, {"X_target": X_TARGET.astype(object)}, TypeError, "dtype object"),
        ({}, {"X_target": X_TARGET.astype(complex)}, TypeError, "dtype complex"),
        ({}, {"X_target": X_TARGET[:0]}, ValueError, "X_target with 0 sample"),
        ({}, {"X_target": np.full((9, 2), np.nan)}, ValueError, "NaN or infinity in X_target"),
        ({}, {"X_target": np.full((9, 2), 1e300)}, ValueError, "infinity in X_target"),
        ({"layer": "boddy"}, {"X_target": X_TARGET}, ValueError, "layer='boddy'.*body"),
        ({"dynamic": "yes"}, {"X_target": X_TARGET}, TypeError, "expected a DynamicWeights"),
        (
            {"dynamic": DynamicWeights(1, layer="x")},
            {"X_target": X_TARGET},
            ValueError,
            "layer='x'",
        ),
        ({"dynamic": ON_LOSSES}, {"X_target": X_TARGET}, ValueError, "no y_target"),
        (
            {"dynamic": ON_LOSSES},
            {"X_target": X_TARGET, "y_target": Y_TARGET[:9]},
            ValueError,
            "y_target of shape .9,. for 300 rows",
        ),
        (
            {"dynamic": ON_LOSSES},
            {"X_target": X_TARGET[:9], "y_target": ["maybe"] * 9},
            ValueError,
            "'maybe' in y_target",
        ),
        ({}, {"X_target": X_TARGET, "y_target": Y_TARGET}, ValueError, "a y_target; "),
        ({"estimator": Ridge()}, {"X_target": X_TARGET}, TypeError, "Got Ridge, but expected"),
        ({"estimator": Ridge}, {"X_target": X_TARGET}, TypeError, "Got Ridge, but expected"),
        ({"weighting": 0.5}, {"X_target": X_TARGET}, TypeError, "weighting=0.5"),
        ({"weighting": Geodesic(2, 1)}, {"X_target": X_TARGET}, ValueError, "lam"),
        ({"weighting": Beyond(1.5)}, {"X_target": X_TARGET}, ValueError, "without dynamic"),
        ({"estimator": no_training(Backwards)}, {"X_target": X_TARGET}, ValueError, "last linear"),
        (
            {"estimator": no_training(Backwards, module__inner=3)},
            {"X_target": X_TARGET},
            ValueError,
            "last linear layer, Linear.in_features=2, out_features=3",
        ),
        (
            {"estimator": no_training(module__outputs=3, classes=["no", "yes", "never"])},
            {"X_target": X_TARGET},
            ValueError,
            "no rows of the classes .'never'",
        ),
        (
            {"estimator": no_training(module__outputs=5)},
            {"X_target": X_TARGET},
            ValueError,
            "outputs of shape .5,. for labels that need .2,.",
        ),
        (
            {"estimator": no_training(nn.Sequential(nn.Conv1d(1, 2, 2)))},
            {"X_target": X_TARGET},
            ValueError,
            "which the module cannot take",
        ),
    ],
)
def test_bad_input_is_refused_before_training(changes, told, error, words):
    model = ImportanceWeightedNet(**{"estimator": no_training(), "ratio": None} | changes)
    with pytest.raises(error, match=words):
        model.fit(X, Y, **told)
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize(
    ("net", "rows", "y", "error", "words"),
    [
        (no_training(), X, None, ValueError, "requires y to be passed"),
        (no_training(), X, Y[:9], ValueError, "y of shape .9,. for 300 rows"),
        (no_training(), X, ["yes"] * 300, ValueError, "one class"),
        (no_training(), X, NUMBERS, ValueError, "Unknown label type"),
        (no_training(classes=["a", "b"]), X, Y, ValueError, "'no' in y, .*'a', 'b'"),
        (no_training(), np.ones((300, 3)), Y, ValueError, "rows of shape .3,., which the module"),
        (no_training(), X.astype(str), Y, TypeError, "encode text"),
        (no_training(), pd.DataFrame({"a": ["x"] * 300}), Y, TypeError, "encode text"),
        (no_training(criterion=NoRows), X, Y, ValueError, "one loss for each row"),
        (no_training(criterion=nn.Identity), X, Y, ValueError, "no losses of single rows"),
        (
            no_training(kind=WeightedNetRegressor),
            X,
            NUMBERS,
            ValueError,
            "outputs of shape .2,. for",
        ),
        (no_training(kind=WeightedNetRegressor), X, Y, ValueError, "needs numbers"),
        (
            no_training(kind=WeightedNetRegressor),
            X,
            np.where(NUMBERS > 0, NUMBERS, np.nan),
            ValueError,
            "NaN or infinity in y",
        ),
    ],
)
def test_bad_rows_and_labels_are_refused_before_training(net, rows, y, error, words):
    kept = state(net)
    with pytest.raises(error, match=words):
        net.fit(rows, y)
    assert state(net) == kept
    with pytest.raises(error, match=words):
        ImportanceWeightedNet(net).fit(rows, y, X_target=rows)


@pytest.mark.parametrize(("n_rows", "n_zero"), [(24, 0), (60, 40)])
def test_too_few_rows_to_keep_some_apart(n_rows, n_zero):
    weight = np.ones(n_rows)
    weight[:n_zero] = 0
    with pytest.raises(ValueError, match=r"Got 2\d rows with weight; 25 or more are needed"):
        ImportanceWeightedNet(no_training()).fit(X[:n_rows], Y[:n_rows], weight, X_target=X_TARGET)


def test_a_module_stands_for_a_classifier():
    for module in (Mlp, Mlp()):
        model = ImportanceWeightedNet(module, ULSIF()).fit(X, Y, X_target=X_TARGET)
        assert set(model.predict(X)) <= {"no", "yes"}
        assert is_classifier(model)


# ---- scikit-learn's own checks


class AnyWidth(WeightedNetClassifier):
    """A net for tables of any width, with any number of classes."""

    def __init__(self, module=None, **options):
        super().__init__(module, **options)

    def initialize_module(self):
        n_classes = len(self.labels_)
        self.module_ = nn.Sequential(nn.LazyLinear(16), nn.Tanh(), nn.Linear(16, n_classes))
        return self


# As of skorch's own nets, and what is refused or taken here on purpose.
EXPECTED = {
    "check_no_attributes_set_in_init": "skorch keeps its history and state there",
    "check_set_params": "skorch shows one of its private attributes among the parameters",
    "check_sample_weight_equivalence_on_dense_data": "holds to float32, not to 1e-9",
    "check_complex_data": "refused, by a TypeError",
    "check_dtype_object": "objects are refused, even where all of them are numbers",
    "check_supervised_y_2d": "labels in a column are taken without a warning",
}


def test_scikit_learns_checks():
    net = AnyWidth(lr=0.5, max_epochs=60, random_state=0, train_split=None, batch_size=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names, and the like
        found = check_estimator(net, expected_failed_checks=EXPECTED, on_skip=None)
    failed = {each["check_name"] for each in found if each["status"] == "xfail"}
    assert failed == set(EXPECTED)
    assert sum(each["status"] == "passed" for each in found) > 40


def test_a_fit_adds_no_parameters():
    net = classifier()
    before = set(net.get_params(deep=False))
    assert {name for name in net.fit(X, Y).get_params(deep=False) if "callbacks" not in name} == {
        name for name in before if "callbacks" not in name
    }
    assert same(parameters(clone(net).fit(X, Y)), parameters(net))


@pytest.mark.parametrize(
    "net",
    [
        lambda: WeightedNetRegressor(Mlp, module__outputs=1, criterion=nn.L1Loss),
        lambda: WeightedNetRegressor(Mlp, module__outputs=1, criterion=nn.PoissonNLLLoss),
        lambda: classifier(criterion__weight=torch.tensor([1.0, 6.0])),
        lambda: classifier(criterion__label_smoothing=0.1),
    ],
)
def test_losses_that_a_refitted_last_layer_would_not_have_are_refused(net):
    """Logistic and ridge regression stand for cross-entropy and squared errors alone."""
    net = net()
    y = Y if isinstance(net, WeightedNetClassifier) else NUMBERS
    with pytest.raises(ValueError, match=r"Got the criterion .* in place of CrossEntropyLoss"):
        ImportanceWeightedNet(net, ULSIF()).fit(X, y, X_target=X_TARGET)


def test_without_warm_up_the_weighting_is_chosen_after_the_first_epoch():
    dynamic = DynamicWeights(1, warmup=0)
    model = ImportanceWeightedNet(classifier(max_epochs=2), ULSIF(), dynamic=dynamic)
    model.fit(X, Y, X_target=X_TARGET)
    assert isinstance(model.dynamic_.weighting, Geodesic)
    assert len(model.trained_rows_) == len(model.dynamic_.weight)


class Strokes(nn.Sequential):
    """A small convolutional network for the 40 numbers of mnist1d."""

    def __init__(self):
        super().__init__(
            nn.Unflatten(1, (1, 40)), nn.Conv1d(1, 16, 5, stride=2), nn.ReLU(), nn.Flatten(),
            nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 10),
        )  # fmt: skip


def test_a_convolutional_net_on_mnist1d_is_no_worse_where_nothing_shifts():
    data = pytest.importorskip("mnist1d.data")
    options = data.get_dataset_args()
    options.num_samples = 600
    rows = data.make_dataset(options)
    net = WeightedNetClassifier(
        Strokes, optimizer=torch.optim.Adam, lr=0.005, max_epochs=8, random_state=0
    )
    model = ImportanceWeightedNet(net, ULSIF()).fit(rows["x"], rows["y"], X_target=rows["x_test"])
    assert last_layer(model).transform(rows["x"]).shape == (480, 32)
    plain = net.fit(rows["x"], rows["y"]).score(rows["x_test"], rows["y_test"])
    assert plain > 0.2  # ten classes
    # one standard error of 120 test rows is 0.045
    assert model.score(rows["x_test"], rows["y_test"]) > plain - 0.05
