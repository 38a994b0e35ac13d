// Functions of the C library that neither Zig's runtime nor the musl it comes with has as C.
const math = @import("std").math;

export fn tanh(x: f64) f64 {
    return math.tanh(x);
}

export fn asin(x: f64) f64 {
    return math.asin(x);
}
