package plan

import (
	"math"
	"strconv"
	"strings"

	"ticketrail/receiver/contract"
)

// maxPlainDigits limits how long a number may get by writing out its exponent: 1e999999999 is eleven
// bytes in the request and a gigabyte on paper. Real quantities have a few digits.
const maxPlainDigits = 32

// A decimal is a number with exactly the digits that were sent. A float64 would print a
// check number of 17 digits wrong.
//
// Equal numbers have equal fields, however they were written: 1, 1.0 and 10e-1 print alike.
type decimal struct {
	neg     bool   // never for zero
	digits  string // significant digits without leading or trailing zeros; "" is zero
	exp     int64  // the value is 0.digits × 10^exp
	hugeExp string // the exponent as written, if it does not fit an int64
}

// minusSigns are hyphen-minus, minus, en dash, hyphen and non-breaking hyphen. A quantity typed with
// any of them is a void; taken for an order it would be cooked.
var minusSigns = [...]string{"-", "\u2212", "\u2013", "\u2010", "\u2011"}

// toDecimal reads a JSON number or a string that holds one. Beyond JSON's grammar, a string may have a
// plus, a typographic minus, leading zeros and a decimal point at either end.
func toDecimal(v contract.Value) (decimal, bool) {
	if kind := v.Kind(); kind != '0' && kind != '"' {
		return decimal{}, false
	}
	return parseDecimal(strings.TrimSpace(v.Text()))
}

// parseDecimal is toDecimal for text without blanks around it.
func parseDecimal(s string) (d decimal, ok bool) {
	s, plus := strings.CutPrefix(s, "+")
	// Not after a plus: "+-2" is not a number.
	for _, minus := range minusSigns {
		if rest, ok := strings.CutPrefix(s, minus); ok && !plus {
			d.neg, s = true, rest
			break
		}
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
		if !allDigits(strings.TrimLeft(exponent[:min(1, len(exponent))], "+-") + exponent[min(1, len(exponent)):]) {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" || whole != "" && !allDigits(whole) || fraction != "" && !allDigits(fraction) {
		return decimal{}, false
	}
	whole = strings.TrimLeft(whole, "0")
	// From here the point is moved in front of the first significant digit: 18 is 0.18 × 10², 0.005
	// is 0.5 × 10⁻².
	d.exp = int64(len(whole))
	d.digits = whole + fraction
	if whole == "" {
		d.digits = strings.TrimLeft(fraction, "0")
		d.exp = int64(len(d.digits) - len(fraction))
	}
	// Trailing zeros do not change 0.digits, and zero itself ends up without digits, sign or
	// exponent: "-0" is no void.
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 64)
		// Half of the range leaves room for the digits that are added to the exponent.
		if err != nil || e > math.MaxInt64/2 || e < math.MinInt64/2 {
			d.hugeExp = exponent // kept as text, so that magnitude cannot overflow
			return d, true
		}
		d.exp += e
	}
	return d, true
}

// allDigits says whether s is one or more ASCII digits.
func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// String writes the number as people do: 18, 0.5, 1000. Only a number that would get longer than
// maxPlainDigits keeps an exponent.
func (d decimal) String() string {
	if d.neg {
		return "-" + d.magnitude()
	}
	return d.magnitude()
}

// magnitude is String without the sign.
func (d decimal) magnitude() string {
	n := int64(len(d.digits))
	switch {
	case n == 0:
		return "0"
	case d.hugeExp != "":
		return "0." + d.digits + "e" + d.hugeExp
	// Scientific notation has one digit in front of the point.
	case d.exp > max(n, maxPlainDigits) || d.exp < -maxPlainDigits:
		s := d.digits[:1]
		if n > 1 {
			s += "." + d.digits[1:]
		}
		return s + "e" + strconv.FormatInt(d.exp-1, 10)
	case d.exp >= n:
		return d.digits + strings.Repeat("0", int(d.exp-n))
	case d.exp > 0:
		return d.digits[:d.exp] + "." + d.digits[d.exp:]
	default:
		return "0." + strings.Repeat("0", int(-d.exp)) + d.digits
	}
}

// float is the nearest float64, or ±Inf. It is for sorting, where rounding does no harm. Of numbers
// with more digits than a float64 holds, the order may be lost, not the item.
func (d decimal) float() float64 { return toFloat(d.String()) }

// toFloat is a JSON number as expressions see it. A number that is too large is ±Inf. A check
// number of 17 digits is rounded in an expression; on the ticket it is exact.
func toFloat(n string) float64 {
	f, _ := strconv.ParseFloat(n, 64) // on a range error f is ±Inf or 0, which is right
	return f
}
