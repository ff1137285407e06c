"""Teachers: weights that follow a student's, and batch statistics that are copied."""

import pytest
import torch

from recoup.learners._training.teachers import follow, predicted, running_mean, teacher_of


def one_weight(value):
    network = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(network.weight, value)
    return network


def test_mean_of_all_students_from_any_start():
    teacher, means = one_weight(-70.0), []
    for step, value in enumerate((1.0, 2.0, 3.0, 4.0)):
        follow(teacher, one_weight(value), running_mean(step, 0.999))
        means.append(teacher.weight.item())
    assert means == pytest.approx([1, 1.5, 2, 2.5], abs=1e-6)


def test_early_students_are_forgotten_in_the_end():
    assert running_mean(998, 0.999) == pytest.approx(1 - 1 / 999)
    assert running_mean(5000, 0.999) == 0.999


def test_share_may_be_a_tensor_and_memory_stays_where_it_is():
    teacher, student = one_weight(0.0), one_weight(8.0)
    place = teacher.weight.data_ptr()
    follow(teacher, student, torch.tensor(0.75))
    assert teacher.weight.item() == 2
    assert teacher.weight.data_ptr() == place
    assert student.weight.item() == 8


def test_batch_statistics_are_copied_and_no_gradient_arrives():
    student = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    teacher = teacher_of(student)
    student(torch.randn(50, 2, generator=torch.Generator().manual_seed(0)) + 3)
    assert not torch.equal(teacher[1].running_mean, student[1].running_mean)
    follow(teacher, student, 0.9)
    assert torch.equal(teacher[1].running_mean, student[1].running_mean)
    assert teacher[1].num_batches_tracked == 1
    assert not any(weight.requires_grad for weight in teacher.parameters())
    assert all(weight.requires_grad for weight in student.parameters())


def test_predictions_are_those_after_training_and_leave_it_going():
    network = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Dropout(0.5)).train()
    rows = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    found = predicted(network, rows)
    assert torch.equal(found, network[0](rows)[:, 0].sigmoid())
    assert not found.requires_grad
    assert network.training
