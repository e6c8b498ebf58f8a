package receiver

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"
)

// Bodies cost memory twice. While they arrive, slow senders can hold many of them for seconds: maxLargeBodies limits
// that. While they are parsed, planned and stored, each needs many times its size: a parser limits that. What does not
// fit waits, or is answered 503 and comes again.
const (
	maxSmallBody   = 64 << 10 // is read without counting it; orders have a few kilobytes
	maxLargeBodies = 64 << 20 // all larger ones together, so that callers cannot fill the memory of a small box
	maxUsualBody   = 16 << 10 // does not wait for larger ones
	maxParsed      = 512 << 10
)

// A parser lets bodies of usual size in until they are maxParsed bytes together, and of the larger ones one at a time,
// so that an order does not wait for bodies that take seconds. The worst body needs 200 times its size.
type parser struct{ small, large *semaphore.Weighted }

func newParser() parser { return parser{semaphore.NewWeighted(maxParsed), semaphore.NewWeighted(1)} }

// acquire waits until a body of that size may be parsed, or until ctx ends.
func (p parser) acquire(ctx context.Context, size int) (release func(), err error) {
	of, need := p.small, int64(size)
	if size > maxUsualBody {
		of, need = p.large, 1
	}
	if err := of.Acquire(ctx, need); err != nil {
		return nil, err
	}
	return func() { of.Release(need) }, nil
}

// readBody reads the body within the time for the answer. After an error x.body holds what was read
// until then.
func (r *Receiver) readBody(c echo.Context, x *exchange) error {
	req, limit := c.Request(), x.policy.MaxBody
	if req.ContentLength > limit { // answered without reading any of it
		x.truncated = true
		return tooLarge(limit)
	}
	size := limit
	if req.ContentLength >= 0 {
		size = req.ContentLength
	}
	// One byte more than may be, by which it is known that there is more.
	err := r.readAll(x, io.LimitReader(req.Body, limit+1), size)
	if err == nil && int64(len(x.body)) > limit {
		err = tooLarge(limit)
	}
	x.bodyRead = err == nil
	if err == nil {
		err = r.decompress(x, limit)
	}
	if err != nil {
		x.truncated = true
		return x.bodyError(err)
	}
	return nil
}

// readAll makes x.body what from has, at most size bytes and one. A large body is read only if it has room beside the
// other large ones; the caller is answered 503 otherwise, and its retry comes when the memory is free again.
func (r *Receiver) readAll(x *exchange, from io.Reader, size int64) error {
	var buf bytes.Buffer
	buf.Grow(int(min(size, 8<<10)) + bytes.MinRead)
	_, err := io.CopyN(&buf, from, maxSmallBody)
	if err == nil {
		if !r.reserve(x, size) {
			err = &refusal{TooSlow, "too many large bodies at once"}
		} else {
			_, err = buf.ReadFrom(from)
		}
	}
	x.body = buf.Bytes()
	if err == io.EOF {
		return nil
	}
	return err
}

// reserve counts so many bytes for the body of x, unless all large bodies together would hold too much.
func (r *Receiver) reserve(x *exchange, size int64) bool {
	more := max(0, size-x.reserved)
	if r.largeReserved.Add(more) > maxLargeBodies {
		r.largeReserved.Add(-more)
		return false
	}
	x.reserved += more
	return true
}

// maxRatio is how many times larger than it was sent a compressed body may be, unless it is small: orders
// compress to a tenth, and those of many equal items to a fiftieth.
const maxRatio = 100

// decompress replaces a body that was compressed with gzip. It looks at the first bytes, which no JSON has,
// and not at Content-Encoding: a proxy may have left the header and not the compression, or the reverse. What
// was decompressed before an error stays, for a person to see.
func (r *Receiver) decompress(x *exchange, limit int64) error {
	if !bytes.HasPrefix(x.body, gzipMagic) {
		return nil
	}
	sent := int64(len(x.body))
	most := min(limit, max(maxRatio*sent, maxSmallBody))
	from, err := gzip.NewReader(bytes.NewReader(x.body))
	if err == nil {
		err = r.readAll(x, io.LimitReader(from, most+1), most)
	}
	switch {
	case int64(len(x.body)) > limit:
		return tooLarge(limit)
	case int64(len(x.body)) > most:
		return &refusal{BodyTooLarge, fmt.Sprintf("the body is more than %d times larger than its compressed form",
			maxRatio)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &refusal{InvalidJSON, "the compressed body ends in the middle"}
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), isCorrupt(err):
		return &refusal{InvalidJSON, "the compressed body is damaged"}
	}
	return err
}

var gzipMagic = []byte{0x1f, 0x8b}

func isCorrupt(err error) bool { _, ok := errors.AsType[flate.CorruptInputError](err); return ok }

// bodyError is the refusal for an error while the body was read. That of a broken connection is no 4xx,
// because a retry may help.
func (x *exchange) bodyError(err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
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

// readRefused runs after the answer to a request that was refused before its body was read to the end. It
// reads what is kept for a person and discards the rest. The caller may already be gone.
func (r *Receiver) readRefused(x *exchange, req *http.Request) {
	from := io.LimitReader(io.MultiReader(bytes.NewReader(x.body), req.Body), maxRejectBody+1)
	size := min(req.ContentLength, maxRejectBody)
	if size < 0 {
		size = maxRejectBody
	}
	err := r.readAll(x, from, size)
	x.truncated = err != nil || len(x.body) > maxRejectBody
	if r.decompress(x, maxRejectBody) != nil {
		x.truncated = true
	}
	if x.truncated {
		_, _ = io.CopyN(io.Discard, req.Body, lingerBytes)
	}
}

// free ends the reservation of the body.
func (r *Receiver) free(x *exchange) {
	r.largeReserved.Add(-x.reserved)
	x.reserved = 0
}
