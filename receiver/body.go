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

	"ticketrail/receiver/contract"
)

// Bodies cost memory twice. While they arrive, slow senders can hold many of them for seconds:
// maxUnreservedBody and maxLargeBodies limit that. While they are parsed and planned, each needs
// many times its size: parseBudgets limits that. What does not fit waits, or is answered 503 and
// comes again.
const (
	maxUnreservedBody = 64 << 10 // a body up to this size needs no reservation, see grow; orders have a few kilobytes
	maxLargeBodies    = 64 << 20 // all larger ones together, so that callers cannot fill the memory of a small box
	maxParseMemory    = 8 << 20  // estimated memory of the bodies of a budget, see parseBudgets
	// maxSmallNeed is the most that a small body needs: one of 300 items with notes needs 500 kB.
	maxSmallNeed = 1 << 20
)

// parseBudgets are the memory that bodies may take while they are parsed, planned and stored, as
// [contract.Memory] estimates it. Small ones have their own, so that an order does not wait for bodies that
// take seconds; large ones wait for each other.
type parseBudgets struct{ small, large *semaphore.Weighted }

func newParseBudgets() parseBudgets {
	return parseBudgets{semaphore.NewWeighted(maxParseMemory), semaphore.NewWeighted(maxParseMemory)}
}

// acquire waits for the memory that a body needs, until ctx ends. A body that needs more than there is has
// all of it: it is parsed, but no other large one until then.
func (b parseBudgets) acquire(ctx context.Context, body []byte) (release func(), err error) {
	from, need := b.large, min(contract.Memory(body), maxParseMemory)
	if need <= maxSmallNeed {
		from = b.small
	}
	if err := from.Acquire(ctx, need); err != nil {
		return nil, err
	}
	return func() { from.Release(need) }, nil
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
	size := int64(4 << 10) // for a chunked body; most orders fit
	if req.ContentLength >= 0 {
		size = min(req.ContentLength, maxUnreservedBody)
	}
	// One byte more than may be, by which it is known that there is more.
	err := r.readAll(x, io.LimitReader(req.Body, limit+1), size, limit)
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

// readAll makes x.body what from has, of which size bytes are expected. Only from is asked whether that is more
// than limit; room for more is never made.
func (r *Receiver) readAll(x *exchange, from io.Reader, size, limit int64) error {
	buf := make([]byte, 0, size+1) // one more, so that the end of the body is found without growing
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		x.body = buf
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case len(buf) == cap(buf):
			if buf, err = r.grow(x, buf, limit); err != nil {
				return err
			}
		}
	}
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
	most := min(limit, max(maxRatio*sent, maxUnreservedBody))
	from, err := gzip.NewReader(bytes.NewReader(x.body))
	if err == nil {
		err = r.readAll(x, io.LimitReader(from, most+1), min(4*sent, most, maxUnreservedBody), most)
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

// grow doubles a buffer, unless all large bodies together would then hold too much. The caller is
// answered 503 then: its retry comes when the memory is free again.
func (r *Receiver) grow(x *exchange, buf []byte, limit int64) ([]byte, error) {
	had := int64(cap(buf))
	size := min(2*had, limit+1) // one more: see readAll
	if had <= maxUnreservedBody+1 {
		had = 0
	}
	if size > maxUnreservedBody {
		if r.largeReserved.Add(size-had) > maxLargeBodies {
			r.largeReserved.Add(had - size)
			return nil, &refusal{TooSlow, "too many large bodies at once"}
		}
		x.reserved += size - had
	}
	return append(make([]byte, 0, size), buf...), nil
}

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
	err := r.readAll(x, from, 4<<10, maxRejectBody)
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
