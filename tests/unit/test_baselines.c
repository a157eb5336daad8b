/* The surface-constraints paper's own methods beside ours: what each loses on problems whose
 * answers are known. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/bench/baseline.h"

static void differences_lose_what_exact_derivatives_keep(void **state)
{
    (void)state;
    double exact = baseline_contact_jacobian(BASELINE_EXACT).loss;
    double forward = baseline_contact_jacobian(BASELINE_FORWARD).loss;
    double central = baseline_contact_jacobian(BASELINE_CENTRAL).loss;
    double richardson = baseline_contact_jacobian(BASELINE_RICHARDSON).loss;
    print_message("exact %.1e, forward %.1e, central %.1e, Richardson %.1e\n", exact, forward,
                  central, richardson);
    assert_true(exact < 1e-12);
    assert_true(richardson < 1e-10 && richardson > 3 * exact);
    assert_true(central < 1e-8 && central > 3 * richardson);
    assert_true(forward < 1e-5 && forward > 30 * central);
}

static void descent_and_newton_assemble_a_scattered_four_bar(void **state)
{
    (void)state;
    baseline_result gradient = baseline_four_bar(BASELINE_GRADIENT);
    baseline_result newton = baseline_four_bar(BASELINE_NEWTON);
    baseline_result lm = baseline_four_bar(BASELINE_LM);
    print_message("left open: gradient %.2f, Newton %.2f, LM %.2f, of one start\n", gradient.loss,
                  newton.loss, lm.loss);
    assert_true(gradient.loss < 0.05 && newton.loss < 0.3 && lm.loss < 0.3);
}

static void euler_angles_lose_digits_near_their_singularity(void **state)
{
    (void)state;
    double manifold = baseline_spinning_body(BASELINE_MANIFOLD).loss;
    double quaternion = baseline_spinning_body(BASELINE_QUATERNION).loss;
    double euler = baseline_spinning_body(BASELINE_EULER).loss;
    print_message("off after 10 s: %.1e rad, quaternion %.1e, Euler angles %.1e\n", manifold,
                  quaternion, euler);
    assert_true(manifold < 1e-11 && quaternion < 1e-11);
    assert_true(euler > 30 * manifold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_lose_what_exact_derivatives_keep),
        cmocka_unit_test(descent_and_newton_assemble_a_scattered_four_bar),
        cmocka_unit_test(euler_angles_lose_digits_near_their_singularity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
