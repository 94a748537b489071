use super::*;

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

#[test]
fn the_incomplete_gamma_function_meets_its_closed_forms() {
    for x in [0.01, 0.5, 1.0, 2.0, 5.0, 20.0] {
        close(gamma_lower(1.0, x), 1.0 - exp(-x), 1e-14);
        close(gamma_lower(0.5, x), libm::erf(sqrt(x)), 1e-13);
        close(gamma_lower(3.0, x), 1.0 - exp(-x) * (1.0 + x + 0.5 * x * x), 1e-13);
    }
    assert_eq!(gamma_lower(2.0, 0.0), 0.0);
    close(gamma_lower(2.0, 1e3), 1.0, 1e-15);
}

#[test]
fn normal_functions_are_inverse_and_meet_tables() {
    for p in [1e-6, 0.01, 0.3, 0.5, 0.9, 0.999] {
        close(normal_cdf(normal_quantile(p)), p, 1e-12);
    }
    close(normal_quantile(0.975), 1.959_963_985, 1e-9);
    close(normal_tail(0.0), 0.5, 1e-15);
    close(normal_tail(4.0), 3.167_124_183e-5, 1e-14);
}

#[test]
fn two_normal_variables_meet_the_arcsine_law() {
    for rho in [-0.8, -0.2, 0.0, 0.3, 0.9] {
        close(bivariate_normal(0.0, 0.0, rho), 0.25 + asin(rho) / (2.0 * PI), 1e-5);
    }
    close(bivariate_normal(-1.0, -1.5, 0.0), normal_cdf(-1.0) * normal_cdf(-1.5), 1e-15);
}

#[test]
fn powers_and_decibels() {
    close(to_db(2.0), 3.010_299_957, 1e-9);
    close(from_db(to_db(7.3)), 7.3, 1e-12);
    close(watts_to_dbm(0.1), 20.0, 1e-12);
    close(dbm_to_watts(35.12), 3.251, 1e-3);
    assert_eq!(nanos(-1.0), 0);
    assert_eq!(nanos(1.5), 1_500_000_000);
}
