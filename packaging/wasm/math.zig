// Functions that compiled code asks for, and that the library of Zig's compiler lacks.

const math = @import("std").math;

export fn asin(x: f64) f64 {
    return math.asin(x);
}
export fn atan(x: f64) f64 {
    return math.atan(x);
}
export fn atan2(y: f64, x: f64) f64 {
    return math.atan2(y, x);
}
export fn expm1(x: f64) f64 {
    return math.expm1(x);
}
export fn log1p(x: f64) f64 {
    return math.log1p(x);
}
export fn tanh(x: f64) f64 {
    return math.tanh(x);
}
