package admin

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue"
	"ticketrail/queue/store"
)

func TestABackupOverTheSocketIsAWholeDatabase(t *testing.T) {
	c := startDaemon(t)
	var b bytes.Buffer
	n, err := c.Backup(t.Context(), &b)
	assert.True(t, err == nil && n == int64(b.Len()), n, b.Len(), err)
	path := filepath.Join(t.TempDir(), "backup")
	assert.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	assert.NoError(t, store.Check(path, queue.Contents))
}

func TestABackupThatBreaksOffIsAnError(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(HeaderAPI, API)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 100_000))
		panic(http.ErrAbortHandler)
	})
	_, err := client.Backup(t.Context(), &bytes.Buffer{})
	assert.True(t, errors.Is(err, ErrUnreachable), err)
}

func TestABackupMayTakeLongerThanAMinute(t *testing.T) {
	t.Run("on the daemon's side", func(t *testing.T) {
		w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("GET", "/v1/database", nil)
		r.Header.Set(HeaderAPI, API)
		startDaemon(t).server.ServeHTTP(w, r)
		assert.True(t, w.inTime >= 2 && w.late == 0,
			"parts with and without a deadline of their own", w.inTime, w.late)
	})

	t.Run("on the client's side", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewClient("")
			c.http.Transport = slowAnswer{}
			var b bytes.Buffer
			n, err := c.Backup(t.Context(), &b)
			assert.True(t, err == nil && n == 1, n, err)
		})
	})
}

func TestABackupOfAStoppedQueueIsRefusedWithAReason(t *testing.T) {
	c := startDaemon(t)
	assert.NoError(t, c.queue.Close())
	_, err := c.Backup(t.Context(), &bytes.Buffer{})
	e, ok := errors.AsType[*Error](err)
	assert.True(t, ok && e.Code == Stopping, err)
}

// A deadlineWriter counts the parts that were written with a deadline of their own, and without.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	set          bool
	inTime, late int
}

func (w *deadlineWriter) SetWriteDeadline(time.Time) error {
	w.set = true
	return nil
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	if w.set {
		w.inTime++
	} else {
		w.late++
	}
	w.set = false
	return w.ResponseRecorder.Write(b)
}

// A slowAnswer is one byte, after ten minutes.
type slowAnswer struct{}

func (slowAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		select {
		case <-time.After(10 * time.Minute):
			_, err := w.Write([]byte("x"))
			w.CloseWithError(err)
		case <-r.Context().Done():
			w.CloseWithError(r.Context().Err())
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{HeaderAPI: {API}}, Body: body}, nil
}
