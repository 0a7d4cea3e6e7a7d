"""Vector operations on 64 items at a time, bit counts and prefetches, which numba has no names for."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_SHORT, _WORD, _FLAG = ir.IntType(16), ir.IntType(64), ir.IntType(32)
_SHORTS, _WORDS = ir.VectorType(_SHORT, 64), ir.VectorType(_WORD, 64)


def _call(builder, name, result, *args):
    """Call of a function of LLVM itself."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _address(context, builder, array, i):
    """Address of element i of a one-dimensional array, given as (type, value)."""
    return cgutils.get_item_pointer(
        context, builder, array[0], context.make_array(array[0])(context, builder, array[1]), [i]
    )


def _load(builder, address, kind):
    """The 64 elements from an address on, which need no alignment beyond their own."""
    block = builder.load(builder.bitcast(address, kind.as_pointer()))
    block.align = kind.element.width // 8
    return block


def _everywhere(builder, value, kind):
    """A vector of 64 times the same value."""
    none = ir.Constant(kind, ir.Undefined)
    head = builder.insert_element(none, value, _FLAG(0))
    return builder.shuffle_vector(head, none, ir.Constant(ir.VectorType(_FLAG, 64), [0] * 64))


@intrinsic
def popcount(typing_context, x):
    """Number of ones in a 64-bit word."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def half(typing_context, x):
    """The finite 16-bit float with these bits, in single precision."""

    def codegen(context, builder, signature, args):
        triple, _, features = context.codegen().magic_tuple()
        if "+f16c" in features or triple.startswith(("aarch64", "arm64")):
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())
        # Without such an instruction LLVM calls a function that need not be there. (−1)ˢ m 2ᵉ is placed as a float is:
        # its exponent then counts from −127 for −15.
        bits = builder.zext(args[0], _FLAG)
        sign, size = (builder.and_(bits, _FLAG(mask)) for mask in (0x8000, 0x7FFF))
        placed = builder.or_(builder.shl(sign, _FLAG(16)), builder.shl(size, _FLAG(13)))
        return builder.fmul(builder.bitcast(placed, ir.FloatType()), ir.Constant(ir.FloatType(), 2.0**112))

    return types.float32(types.uint16), codegen


@intrinsic
def prefetch(typing_context, array, i):
    """Ask for the cache line of array[i]; nothing waits for it, and an address outside of the array does no harm."""

    def codegen(context, builder, signature, args):
        address = _address(context, builder, (signature.args[0], args[0]), args[1])
        _call(builder, "llvm.prefetch.p0", ir.VoidType(), address, _FLAG(0), _FLAG(3), _FLAG(1))
        return context.get_dummy_value()

    return types.void(array, i), codegen


@intrinsic
def differing(typing_context, tile, code, out, i):
    """Write the Hamming distances of 64 codes to one code into out[i : i + 64] (uint16) and return the least.

    ``tile`` (64 words) holds word by word the codes of the 64 items, ``code`` (words,) the other one.
    """

    def codegen(context, builder, signature, args):
        tile, code, out = ((signature.args[j], args[j]) for j in range(3))
        total = cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [0] * 64))
        n_words = context.make_array(code[0])(context, builder, code[1]).nitems
        with cgutils.for_range(builder, n_words) as loop:
            place = _address(context, builder, tile, builder.mul(loop.index, _WORD(64)))
            word = builder.load(_address(context, builder, code, loop.index))
            bits = builder.xor(_load(builder, place, _WORDS), _everywhere(builder, word, _WORDS))
            count = _call(builder, "llvm.ctpop.v64i64", _WORDS, bits)
            builder.store(builder.add(builder.load(total), count), total)
        distances = builder.trunc(builder.load(total), _SHORTS)
        place = _address(context, builder, out, args[3])
        builder.store(distances, builder.bitcast(place, _SHORTS.as_pointer())).align = 2
        return _call(builder, "llvm.vector.reduce.umin.v64i16", _SHORT, distances)

    return types.uint16(tile, code, out, types.int64), codegen


@intrinsic
def weighted(typing_context, tile, code, planes, out, i):
    """As :func:`differing`, but a bit j that differs counts a_j.

    A plane of ``planes`` (planes · words,) has one bit of all a_j, the highest first; the sum so far is doubled before
    each (Horner).
    """

    def codegen(context, builder, signature, args):
        tile, code, planes, out = ((signature.args[j], args[j]) for j in range(4))
        total = cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [0] * 64))
        one = ir.Constant(_WORDS, [1] * 64)
        n_words = context.make_array(code[0])(context, builder, code[1]).nitems
        n_all = context.make_array(planes[0])(context, builder, planes[1]).nitems
        with cgutils.for_range(builder, builder.udiv(n_all, n_words)) as plane:
            builder.store(builder.shl(builder.load(total), one), total)
            head = builder.mul(plane.index, n_words)
            with cgutils.for_range(builder, n_words) as loop:
                place = _address(context, builder, tile, builder.mul(loop.index, _WORD(64)))
                word = builder.load(_address(context, builder, code, loop.index))
                mask = builder.load(_address(context, builder, planes, builder.add(head, loop.index)))
                bits = builder.xor(_load(builder, place, _WORDS), _everywhere(builder, word, _WORDS))
                bits = builder.and_(bits, _everywhere(builder, mask, _WORDS))
                count = _call(builder, "llvm.ctpop.v64i64", _WORDS, bits)
                builder.store(builder.add(builder.load(total), count), total)
        distances = builder.trunc(builder.load(total), _SHORTS)
        place = _address(context, builder, out, args[4])
        builder.store(distances, builder.bitcast(place, _SHORTS.as_pointer())).align = 2
        return _call(builder, "llvm.vector.reduce.umin.v64i16", _SHORT, distances)

    return types.uint16(tile, code, planes, out, types.int64), codegen


@intrinsic
def at_most(typing_context, array, i, level):
    """Bit j of the answer is [array[i + j] ≤ level], for 64 elements of uint16."""

    def codegen(context, builder, signature, args):
        values = _load(builder, _address(context, builder, (signature.args[0], args[0]), args[1]), _SHORTS)
        return builder.bitcast(builder.icmp_unsigned("<=", values, _everywhere(builder, args[2], _SHORTS)), _WORD)

    return types.uint64(array, i, types.uint16), codegen
