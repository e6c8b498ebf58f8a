package receiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Bodies cost memory twice. While they arrive, slow senders can hold many of them for seconds:
// maxUnreservedBody and maxLargeBodies limit that. While they are parsed and planned, each needs
// many times its size: maxParseMemory limits that. What does not fit waits, or is answered 503 and
// comes again.
const (
	maxUnreservedBody = 64 << 10 // a body up to this size needs no reservation, see grow; orders have a few kilobytes
	maxLargeBodies    = 64 << 20 // all larger ones together, so that callers cannot fill the memory of a small box
	maxParseMemory    = 8 << 20  // estimated memory of the bodies being parsed, planned and stored, see memoryEstimate
)

// memoryEstimate is about how many bytes of memory a body needs until it is stored. Measured after
// [contract.Open] on a 64-bit machine: 370 bytes for {"a":1}, 35 to 85 for any other value with its key.
// Planning adds a line for each item, and a copy if an expression is evaluated; garbage comes on top.
// The estimate is never more than maxParseMemory, so that every body can be parsed, if need be alone.
// Braces and commas inside text are counted too; such a body only waits longer than it must.
func (x *exchange) memoryEstimate() int64 {
	objects := bytes.Count(x.body, []byte("{"))
	values := bytes.Count(x.body, []byte(",")) + bytes.Count(x.body, []byte("["))
	return min(int64(len(x.body)+512*objects+64*values), maxParseMemory)
}

// readBody reads the body within the time for the answer. After an error x.body holds what was read
// until then. Reading into a buffer of its own, and not with io.ReadAll, lets each growth be
// counted before the memory is taken.
func (r *Receiver) readBody(c echo.Context, x *exchange) error {
	req, limit := c.Request(), x.policy.maxBody
	if req.ContentLength > limit { // answered without reading any of it
		x.truncated = true
		return tooLarge(limit)
	}
	body := http.MaxBytesReader(c.Response(), req.Body, limit)
	size := int64(4 << 10) // for a chunked body; most orders fit
	if req.ContentLength >= 0 {
		size = min(req.ContentLength, maxUnreservedBody)
	}
	buf := make([]byte, 0, size+1) // one more, so that the end of the body is found without growing
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		x.body = buf
		if err == io.EOF {
			x.bodyRead = true
			return nil
		}
		if err != nil {
			x.truncated = true
			return x.bodyError(err)
		}
		if len(buf) == cap(buf) {
			if buf, err = r.grow(x, buf); err != nil {
				x.truncated = true
				return &refusal{TooSlow, err.Error()}
			}
		}
	}
}

// grow doubles a buffer, unless all large bodies together would then hold too much. The caller is
// answered 503 then: its retry comes when the memory is free again.
func (r *Receiver) grow(x *exchange, buf []byte) ([]byte, error) {
	size := min(2*int64(cap(buf)), x.policy.maxBody+1) // one more: see readBody
	if size > maxUnreservedBody {
		// With a large max_body the total must grow too, or a body of that size could never be read.
		// Twice, so that one such body does not keep out all other large ones.
		all := max(maxLargeBodies, 2*x.policy.maxBody)
		if r.largeReserved.Add(size-x.reserved) > all {
			r.largeReserved.Add(x.reserved - size)
			return nil, errors.New("too many large bodies at once")
		}
		x.reserved = size
	}
	return append(make([]byte, 0, size), buf...), nil
}

// bodyError is the refusal for an error while the body was read. Only for a body that is too large it
// is a 4xx, because only then a retry cannot help.
func (x *exchange) bodyError(err error) error {
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(m.Limit)
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() || !time.Now().Before(x.deadline) {
		return &refusal{TooSlow, "the body did not arrive in time"}
	}
	return &refusal{BodyIncomplete, "the body broke off"}
}

// tooLarge is the refusal of a body over limit bytes. 400 and not 413, which the contract does not
// know: the service's reaction to it would be a guess.
func tooLarge(limit int64) error {
	return &refusal{BodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit)}
}

// readRefused runs after the answer to a request that was refused by its headers. It reads the part of
// the body that a person will want to see and discards the rest. The caller may already be gone.
func (x *exchange) readRefused(req *http.Request) {
	if x.body == nil {
		// Enough to recognise the order that was lost; more of it is not worth the memory.
		limit := min(x.policy.maxBody, maxUnreservedBody)
		x.body, _ = io.ReadAll(io.LimitReader(req.Body, limit))
		x.truncated = req.ContentLength != int64(len(x.body)) // chunked: the length is unknown, so there may be more
	}
	_, _ = io.CopyN(io.Discard, req.Body, lingerBytes)
}
