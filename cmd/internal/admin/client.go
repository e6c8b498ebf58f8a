package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A Client asks a running daemon. A refusal comes back as [*Error], no daemon as
// [*NotRunning], a socket one may not open as [*PermissionDenied].
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a Client for the daemon at socket. It connects when it is asked something.
func NewClient(socket string) *Client {
	return &Client{socket: socket, http: &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
				return c, dialError(socket, err)
			},
		},
	}}
}

// NotRunning says that nobody answers at the socket.
type NotRunning struct{ Socket string }

func (e *NotRunning) Error() string {
	return fmt.Sprintf("ticketrail is not running (nobody answers at %s): start it with systemctl start ticketrail, or name its socket with --socket", e.Socket)
}

// PermissionDenied says that the socket is closed to this user.
type PermissionDenied struct {
	Socket string
	Group  string // who may; empty when that cannot be told
}

func (e *PermissionDenied) Error() string {
	if e.Group == "" || e.Group == "root" { // nobody should be advised to join that
		return fmt.Sprintf("permission denied at %s: use sudo", e.Socket)
	}
	return fmt.Sprintf("permission denied at %s: only group %s may; use sudo, or add yourself with usermod -aG %s and log in again", e.Socket, e.Group, e.Group)
}

func dialError(socket string, err error) error {
	switch {
	case err == nil:
		return nil
	case refused(err):
		return &NotRunning{Socket: socket}
	case errors.Is(err, fs.ErrPermission):
		return &PermissionDenied{Socket: socket, Group: group(socket)}
	}
	return fmt.Errorf("reach ticketrail at %s: %w", socket, err)
}

// group names who may open the socket, or enter the folder it is in.
func group(socket string) string {
	for _, p := range []string{socket, filepath.Dir(socket)} {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		gid := strconv.FormatUint(uint64(st.Gid), 10)
		if g, err := user.LookupGroupId(gid); err == nil {
			return g.Name
		}
		return gid
	}
	return ""
}

// Jobs lists jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f Filter) ([]Job, error) {
	return call[[]Job](ctx, c, "GET", "/v1/jobs?"+f.query().Encode(), nil)
}

// Job shows one job.
func (c *Client) Job(ctx context.Context, id uint64) (Detail, error) {
	return call[Detail](ctx, c, "GET", "/v1/jobs/"+number(id), nil)
}

// Reprint puts a marked copy of a ticket into a station's queue, an empty station being the
// same one, and returns the copy's id.
func (c *Client) Reprint(ctx context.Context, id uint64, station, reason string) (uint64, error) {
	return one(call[made](ctx, c, "POST", "/v1/jobs/"+number(id)+"/reprint", reprintBody{Station: station, Reason: reason}))
}

// Cancel says that a ticket is not to come out.
func (c *Client) Cancel(ctx context.Context, id uint64, reason string) error {
	_, err := call[made](ctx, c, "POST", "/v1/jobs/"+number(id)+"/cancel", reasonBody{Reason: reason})
	return err
}

// Move sends open tickets to the end of another station's queue and returns their new ids.
func (c *Client) Move(ctx context.Context, ids []uint64, to string) ([]uint64, error) {
	m, err := call[made](ctx, c, "POST", "/v1/move", moveBody{IDs: ids, To: to})
	return m.Jobs, err
}

// MoveAll does what Move does with every open ticket of a station.
func (c *Client) MoveAll(ctx context.Context, from, to string) ([]uint64, error) {
	m, err := call[made](ctx, c, "POST", "/v1/move", moveBody{From: from, To: to})
	return m.Jobs, err
}

// Stations lists every station.
func (c *Client) Stations(ctx context.Context) (Stations, error) {
	return call[Stations](ctx, c, "GET", "/v1/stations", nil)
}

// Test puts a test ticket into a station's queue and returns its id.
func (c *Client) Test(ctx context.Context, station string) (uint64, error) {
	return one(call[made](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/test", nil))
}

// Hold stops a station after the ticket in hand, until Resume.
func (c *Client) Hold(ctx context.Context, station, reason string) error {
	_, err := call[struct{}](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/hold", reasonBody{Reason: reason})
	return err
}

// Resume lets a station resume.
func (c *Client) Resume(ctx context.Context, station string) error {
	_, err := call[struct{}](ctx, c, "POST", "/v1/stations/"+url.PathEscape(station)+"/resume", nil)
	return err
}

// Rejects lists refused print requests, newest first, without their bodies.
func (c *Client) Rejects(ctx context.Context) ([]Reject, error) {
	return call[[]Reject](ctx, c, "GET", "/v1/rejects", nil)
}

// Reject shows one refused print request.
func (c *Client) Reject(ctx context.Context, id uint64) (Reject, error) {
	return call[Reject](ctx, c, "GET", "/v1/rejects/"+number(id), nil)
}

func number(id uint64) string { return strconv.FormatUint(id, 10) }

func one(m made, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	if len(m.Jobs) != 1 {
		return 0, fmt.Errorf("read answer: %d job ids where one is due", len(m.Jobs))
	}
	return m.Jobs[0], nil
}

// call asks once. There is no second try: a change that may have been made is for the
// person to look at, not for a loop to make again.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var none T
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return none, fmt.Errorf("encode request: %w", err)
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://ticketrail"+path, send)
	if err != nil {
		return none, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set(HeaderAPI, API)
	resp, err := c.http.Do(req)
	if err != nil {
		return none, c.explain(method, err)
	}
	defer resp.Body.Close()
	switch v := resp.Header.Get(HeaderAPI); {
	case v == "":
		return none, fmt.Errorf("what answers at %s is not ticketrail", c.socket)
	case v != API:
		return none, mismatch(API, v)
	}
	if resp.StatusCode != http.StatusOK {
		var e struct {
			Error *Error `json:"error"`
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&e); err != nil || e.Error == nil {
			return none, fmt.Errorf("ticketrail answers %s and no reason", resp.Status)
		}
		return none, e.Error
	}
	var v T
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return none, c.explain(method, err)
	}
	return v, nil
}

// explain makes an error of the wire one that says what is known now.
func (c *Client) explain(method string, err error) error {
	if e, ok := errors.AsType[*NotRunning](err); ok {
		return e
	}
	if e, ok := errors.AsType[*PermissionDenied](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the made-up address in front helps nobody
	}
	if method == http.MethodGet {
		return fmt.Errorf("ask ticketrail at %s: %w", c.socket, err)
	}
	return fmt.Errorf("ask ticketrail at %s: %w: whether it was done is unknown, look with jobs list", c.socket, err)
}
