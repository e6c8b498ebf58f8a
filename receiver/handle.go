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
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ticketrail/queue/ticket"
	"ticketrail/receiver/contract"
)

// handle takes a posted request. The 200 is written only after take has returned nil. A crash before that means no
// answer: the service sends the request again. A crash after it loses nothing, because the order is on stable storage.
// Nothing that can fail is done between the two. Work that the answer does not need is done after it.
func (r *Receiver) handle(c echo.Context) error {
	x := exchangeOf(c)

	// A sender that trickles its body must get its 503 before it gives up.
	// The server's own time-out is the same for all policies; this one keeps respond_within.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(x.deadline)
	if err := r.readBody(c, x); err != nil {
		return err
	}

	// WithoutCancel: a caller that hangs up now does not cancel its order.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(c.Request().Context()), x.deadline)
	defer cancel()
	receipt, err := r.take(ctx, x)
	if err != nil { // here as above, Echo's error handler (Receiver.refuse) frees the body
		if _, isRefusal := errors.AsType[*refusal](err); !isRefusal {
			err = refused(r.codeOf(ctx, err))
		}
		return err
	}
	defer r.free(x)

	r.countStored(receipt) // before the answer, so that a caller that was answered finds its request in the metrics
	r.metrics.seconds.Observe(time.Since(x.start).Seconds())
	x.answer(c, contract.HTTPStored, successBody{contract.ValueSuccess, receipt.Duplicate, receipt.Jobs})
	r.noteStored(x, receipt)
	return nil
}

// take plans a request and stores it. Every order comes this way: one that is posted, one that a relay has stored, and
// one that was refused before. When take returns nil, all of the request would survive a power cut. The error is a
// [*refusal] if the cause is in the request, else one of ctx or of the intake: the request may still be stored later,
// and a retry is then a duplicate and prints nothing.
func (r *Receiver) take(ctx context.Context, x *exchange) (receipt ticket.Receipt, err error) {
	defer func() { // a body that causes a panic must not stop the daemon, again and again
		if p := recover(); p != nil {
			err = r.panicked(p, debug.Stack())
		}
	}()

	room, need := r.small, int64(len(x.body))
	if need > maxSmallBody {
		room, need = r.large, 1 // one body at a time
	}
	if err := room.Acquire(ctx, need); err != nil {
		return receipt, err
	}
	defer room.Release(need)

	planned, err := r.plan(x)
	if err != nil {
		return receipt, err
	}

	if x.storeWithin > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, x.storeWithin)
		defer cancel()
	}
	return r.o.Intake.Accept(ctx, planned)
}

// plan parses the body into x.request and plans its tickets. It counts and logs its anomalies. The error is one of the
// parser: planning cannot fail, so a mistake in the routes never refuses an order.
func (r *Receiver) plan(x *exchange) (planned ticket.Request, err error) {
	x.request, err = contract.Open(x.body, x.mode)
	if err != nil {
		code := SchemaMismatch
		if _, ok := errors.AsType[*contract.InvalidJSON](err); ok {
			code = InvalidJSON
		}
		return planned, &refusal{code, err.Error()}
	}

	// The header decides, because it was checked against the allow-list. The order is printed
	// anyway: refusing it would lose a dinner over a field that no ticket needs.
	if contract.VenueDiffers(x.request, x.venue.ID) {
		x.request.Anomalies = append(x.request.Anomalies, contract.VenueOther)
	}

	for _, a := range x.request.Anomalies {
		r.noteAnomaly(a, x.venue.ID, x.request.ID)
	}

	result := x.policy.Plan.Split(x.request, x.venue.Venue, x.device, x.start.UTC(), x.policy.Names)
	if result.FailureCount > 0 {
		r.noteExpressionFailures(result, x.venue.ID)
	}

	planned = result.Request
	planned.Age = x.age
	planned.OnlyReportConflict = x.policy.OnlyReportConflict && x.refusedFor == ""
	if x.refusedFor != "" {
		headLate(&planned, x.refusedFor)
	}
	return planned, nil
}

// headLate makes the request one that is printed late, and says so on its tickets, with the reason for which it was
// refused.
func headLate(planned *ticket.Request, reason string) {
	planned.PrintEvenIfReported = true
	for i := range planned.Drafts {
		planned.Drafts[i].Ticket.RefusedFor = strings.ToValidUTF8(fmt.Sprintf("%.120s", reason), "")
	}
}

// noteStored logs a stored request, keeps it if not all of it may be on paper, and looks at its fields. Neither a slow
// journal nor anything else of this delays the answer.
func (r *Receiver) noteStored(x *exchange, receipt ticket.Receipt) {
	r.logAccepted(x, receipt)
	r.keepAccepted(x, receipt)
	r.noteShape(x, receipt)
}

// keepAccepted passes to Options.Reject a body that was answered 200 and of which something may not be on paper.
func (r *Receiver) keepAccepted(x *exchange, receipt ticket.Receipt) {
	var one Reject
	switch {
	case receipt.Conflict:
		one = x.entry(reasonConflict, "the id was used before, with other content; "+x.policy.conflictText())
		if !x.policy.OnlyReportConflict {
			one.Printed = one.Time
		}
	case x.request.Cut && !receipt.Duplicate:
		one = x.entry(Code(contract.OverLimit),
			"only its beginning is on paper, as text: it is more than a ticket can hold")
		one.Printed = one.Time
	default:
		return
	}

	r.o.Reject(one)
}

// codeOf returns the code for an error of Intake. Its status is always 503: after a 4xx the service
// would not retry.
func (r *Receiver) codeOf(ctx context.Context, err error) Code {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return TooSlow
	}

	// A Code of another status would be a mistake in Options.Classify, which must not cost an order.
	if code := r.o.Classify(err); code.Status() == contract.HTTPUnavailable {
		return code
	}
	return StorageFailed
}

// Bodies cost memory twice. While they arrive, slow senders can hold many of them for seconds: maxLargeBodies limits
// that. While they are parsed, planned and stored, each needs many times its size, the worst body 200 times: bodies of
// usual size are let in until they are maxParsed bytes together, and larger ones one at a time, so that an order does
// not wait for bodies that take seconds. These are two limits, because a semaphore serves in the order of arrival: with
// one, every order would wait behind a large body. A body that does not fit waits, or is answered 503 and comes again.
const (
	maxSmallBody   = 16 << 10 // is read without counting it, and parsed beside others; orders have a few kilobytes
	maxLargeBodies = 64 << 20 // all larger ones together, so that callers cannot fill the memory of a small box
	maxParsed      = 512 << 10
)

// readBody reads the body within the time for the answer. After an error x.body holds the part that was
// read until then.
func (r *Receiver) readBody(c echo.Context, x *exchange) error {
	req, limit := c.Request(), x.policy.MaxBody
	if req.ContentLength > limit { // answered without reading any of it; readRefused keeps a part of it
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

// readAll makes x.body the content of from, which the server or a limit ends after at most size+1 bytes. A large body
// is read only if it has room beside the other large ones; the caller is answered 503 otherwise, and its retry comes
// when the memory is free again.
func (r *Receiver) readAll(x *exchange, from io.Reader, size int64) error {
	var buf bytes.Buffer
	buf.Grow(int(min(size, 8<<10)) + bytes.MinRead)
	_, err := io.CopyN(&buf, from, maxSmallBody)
	if err == nil { // no EOF yet: it is a large body
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
// compress to a tenth, and orders of many equal items to a fiftieth.
const maxRatio = 100

// decompress replaces a body that was compressed with gzip. It looks at the first bytes, which no JSON has,
// and not at Content-Encoding: a proxy may have left the header and not the compression, or the reverse. The
// part that was decompressed before an error stays, for a person to see.
func (r *Receiver) decompress(x *exchange, limit int64) error {
	if !bytes.HasPrefix(x.body, gzipMagic) {
		return nil
	}

	sent := int64(len(x.body))
	most := min(limit, max(maxRatio*sent, 4*maxSmallBody))
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

// bodyError is the refusal for an error while the body was read. A broken connection is no 4xx,
// because a retry may help.
func (x *exchange) bodyError(err error) error {
	if already, ok := errors.AsType[*refusal](err); ok {
		return already
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() || !time.Now().Before(x.deadline) {
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
// reads the part that is kept for a person and discards the rest. The caller may already be gone.
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
