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

const (
	smallBody  = 64 << 10 // a body up to this size is always read
	largeBytes = 64 << 20 // all larger ones together may hold this much, so that no caller can fill the memory
	parseBytes = 8 << 20  // what bodies may need at a time to be parsed, planned and stored, see weight
)

// weight is about how many bytes of memory a body needs until it is stored: an object of ten
// bytes makes a map of five hundred, any other value a small part of that.
func (x *exchange) weight() int64 {
	objects := bytes.Count(x.body, []byte("{"))
	values := bytes.Count(x.body, []byte(",")) + bytes.Count(x.body, []byte("["))
	return min(int64(len(x.body)+512*objects+64*values), parseBytes)
}

// readBody reads the body within the time for the answer. What was read before it failed is
// in x.body all the same.
func (r *Receiver) readBody(c echo.Context, x *exchange) error {
	req, limit := c.Request(), x.policy.maxBody
	if req.ContentLength > limit {
		x.truncated = true
		return tooLarge(limit)
	}
	body := http.MaxBytesReader(c.Response(), req.Body, limit)
	size := int64(4 << 10)
	if req.ContentLength >= 0 {
		size = min(req.ContentLength, smallBody)
	}
	buf := make([]byte, 0, size+1) // the one more lets the end be seen without growing
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
			return x.unread(err)
		}
		if len(buf) == cap(buf) {
			if buf, err = r.grow(x, buf); err != nil {
				x.truncated = true
				return &refusal{TooSlow, err.Error()}
			}
		}
	}
}

// grow doubles a buffer, within what all large bodies together may hold.
func (r *Receiver) grow(x *exchange, buf []byte) ([]byte, error) {
	size := min(2*int64(cap(buf)), x.policy.maxBody+1)
	if size > smallBody {
		all := max(largeBytes, 2*x.policy.maxBody)
		if r.large.Add(size-x.held) > all {
			r.large.Add(x.held - size)
			return nil, errors.New("too many large bodies at once")
		}
		x.held = size
	}
	return append(make([]byte, 0, size), buf...), nil
}

// unread says what an error in the middle of a body means. Only its size is beyond cure.
func (x *exchange) unread(err error) error {
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(m.Limit)
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() || !time.Now().Before(x.deadline) {
		return &refusal{TooSlow, "the body did not arrive in time"}
	}
	return &refusal{BodyIncomplete, "the body broke off"}
}

func tooLarge(limit int64) error {
	return &refusal{BodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit)}
}

// readLate reads, after the answer went out, what a person will want to see of a body that
// was refused by its headers, and throws away what follows. The caller may already be gone.
func (x *exchange) readLate(req *http.Request) {
	if x.body == nil {
		limit := min(x.policy.maxBody, smallBody)
		x.body, _ = io.ReadAll(io.LimitReader(req.Body, limit))
		x.truncated = req.ContentLength != int64(len(x.body)) // chunked: unknown, so perhaps
	}
	_, _ = io.CopyN(io.Discard, req.Body, lingerBytes)
}
