// What compiled code asks of its surroundings: memory, and a few functions of Numba's own runtime.
// Memory is taken from the top, and given back as a whole by `clear`. What compiled code frees in
// between is kept by size for its next use.

#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define LINE 64      // bytes of a cache line: all addresses are multiples
#define PAGE 65536u  // bytes by which memory grows
#define SIZES 32

enum { FINE, FULL, BUG };

extern unsigned char __heap_base;
static uint32_t top;
static int32_t failure = FINE;

static _Noreturn void fail(int32_t reason) {
  failure = reason;
  __builtin_trap();
}

// Why the last call ended early: 0 for no reason known here, 1 no memory left, 2 a bug.
EXPORT(failure) int32_t last_failure(void) { return failure; }

// The number of bytes in use.
EXPORT(used) uint32_t used(void) { return top; }

EXPORT(reserve) void *reserve(uint32_t size) {
  if (!top) top = ((uint32_t)(uintptr_t)&__heap_base + LINE - 1) & ~(uint32_t)(LINE - 1);
  uint64_t end = (uint64_t)top + size + LINE - 1;
  end -= end % LINE;
  if (end > UINT32_MAX) fail(FULL);
  uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
  if (end > have) {
    size_t more = (size_t)((end - have + PAGE - 1) / PAGE);
    if (__builtin_wasm_memory_grow(0, more) == (size_t)-1) fail(FULL);
  }
  void *place = (void *)(uintptr_t)top;
  top = (uint32_t)end;
  return place;
}

// As Numba's runtime has it, with what we need to find its size again.
typedef struct Cell {
  uint64_t count;
  void *destructor, *info, *data;
  uint64_t size;
  struct Cell *next;
  uint32_t power;
} Cell;

static Cell *spare[SIZES];
static Cell *part;      // the arrays of the tokens that move
static int32_t in_part; // whether arrays are made for them

// Give all memory back. What is reserved next begins where memory did.
EXPORT(clear) void clear(void) {
  top = 0;
  failure = FINE;
  part = NULL;
  in_part = 0;
  for (int i = 0; i < SIZES; i++) spare[i] = NULL;
}

Cell *NRT_MemInfo_alloc_aligned(uint64_t size, uint32_t align) {
  if (align > LINE) fail(BUG);
  if (size > (1u << 31)) fail(FULL);
  uint32_t power = 7;
  while ((1ull << power) < size + LINE) power++;
  Cell *cell = spare[power];
  if (cell) spare[power] = cell->next;
  else cell = reserve(1u << power);
  *cell = (Cell){.count = 1, .data = (char *)cell + LINE, .size = size, .power = power};
  return cell;
}

// A short list of numbers, which Numba makes wherever it calls LAPACK.
Cell *NRT_MemInfo_new_varsize_dtor(uint64_t size, void *destructor) {
  return NRT_MemInfo_alloc_aligned(size, LINE);
}

void NRT_MemInfo_call_dtor(Cell *cell) {
  cell->next = spare[cell->power];
  spare[cell->power] = cell;
}

// Give back the arrays of the tokens that move. Those that follow, until `end_part`, take their place.
void begin_part(void) {
  while (part) {
    Cell *next = part->next;
    NRT_MemInfo_call_dtor(part);
    part = next;
  }
  in_part = 1;
}

void end_part(void) { in_part = 0; }

void *zeroed(uint64_t size) {
  if (size > (1u << 31)) fail(FULL);
  void *place;
  if (in_part) {
    Cell *cell = NRT_MemInfo_alloc_aligned(size, LINE);
    cell->next = part;
    part = cell;
    place = cell->data;
  } else {
    place = reserve((uint32_t)size);
  }
  return __builtin_memset(place, 0, (uint32_t)size);
}

// A product of small matrices, by columns: C = alpha op(A) op(B) + beta C.
int32_t numba_xxgemm(char kind, char ta, char tb, int64_t m, int64_t n, int64_t inner,
                     double *alpha, double *a, int64_t lda, double *b, int64_t ldb, double *beta,
                     double *c, int64_t ldc) {
  if (kind != 'd') fail(BUG);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) {
      double sum = 0;
      for (int64_t k = 0; k < inner; k++)
        sum += (ta == 'n' ? a[i + k * lda] : a[k + i * lda]) *
               (tb == 'n' ? b[k + j * ldb] : b[j + k * ldb]);
      double *to = c + i + j * ldc;
      *to = *alpha * sum + (*beta == 0 ? 0 : *beta * *to);
    }
  return 0;
}

// The same where one matrix is a vector, as where a single token moves: y = alpha op(A) x + beta y.
int32_t numba_xxgemv(char kind, char t, int64_t m, int64_t n, double *alpha, double *a, int64_t lda,
                     double *x, double *beta, double *y) {
  if (kind != 'd') fail(BUG);
  int64_t rows = t == 'n' ? m : n, inner = t == 'n' ? n : m;
  for (int64_t i = 0; i < rows; i++) {
    double sum = 0;
    for (int64_t k = 0; k < inner; k++) sum += (t == 'n' ? a[i + k * lda] : a[k + i * lda]) * x[k];
    y[i] = *alpha * sum + (*beta == 0 ? 0 : *beta * y[i]);
  }
  return 0;
}

// The same where both are.
int32_t numba_xxdot(char kind, char conjugate, int64_t n, double *x, double *y, double *out) {
  if (kind != 'd') fail(BUG);
  *out = 0;
  for (int64_t i = 0; i < n; i++) *out += x[i] * y[i];
  return 0;
}

double hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  double larger = a > b ? a : b, ratio = a > b ? b / a : a / b;
  if (larger == 0 || larger == __builtin_inf()) return larger;
  return larger * __builtin_sqrt(1 + ratio * ratio);
}

int32_t eigenvalues(int32_t *result, void *matrix, int64_t n, void *out);

// Eigenvalues without vectors. A matrix by columns has those of the same matrix by rows.
__attribute__((weak)) int32_t eigenvalues(int32_t *result, void *matrix, int64_t n, void *out) {
  fail(BUG);
}

int32_t numba_ez_cgeev(char kind, char left, char right, int64_t n, void *a, int64_t lda, void *w,
                       void *vl, int64_t ldvl, void *vr, int64_t ldvr) {
  int32_t failed = 0;
  if (kind != 'z' || lda != n) fail(BUG);
  int32_t status = eigenvalues(&failed, a, n, w);
  return status ? status : failed;
}

// The product of two integers of 128 bits, in halves.
typedef struct {
  uint64_t low, high;
} Wide;

void __multi3(Wide *out, uint64_t a, uint64_t a_high, uint64_t b, uint64_t b_high) {
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t first = a0 * b0, second = a1 * b0 + (first >> 32), third = a0 * b1 + (uint32_t)second;
  out->low = third << 32 | (uint32_t)first;
  out->high = a1 * b1 + (second >> 32) + (third >> 32) + a_high * b + a * b_high;
}

// All arrays that are reshaped are contiguous.
int32_t numba_attempt_nocopy_reshape(int64_t nd, const int64_t *dims, const int64_t *strides,
                                     int64_t wanted, const int64_t *sizes, int64_t *steps,
                                     int64_t item, int32_t by_columns) {
  int64_t expected = item;
  for (int64_t i = nd - 1; i >= 0; i--) {
    if (dims[i] > 1 && strides[i] != expected) return 0;
    expected *= dims[i];
  }
  for (int64_t i = wanted - 1; i >= 0; i--) {
    steps[i] = item;
    item *= sizes[i];
  }
  return !by_columns;
}

// Nothing that a page runs comes to these.
void numba_gil_ensure(void *state) { fail(BUG); }
int32_t numba_fatal_error(void) { fail(BUG); }
void Py_FatalError(char *text) { fail(BUG); }
