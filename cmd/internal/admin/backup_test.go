package admin

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ticketrail/queue"
	"ticketrail/queue/store"
)

func TestABackupOverTheSocketIsAWholeDatabase(t *testing.T) {
	c := startDaemon(t)
	var b bytes.Buffer
	n, err := c.Backup(t.Context(), &b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(path, queue.Contents); err != nil {
		t.Error(err)
	}
}

func TestABackupThatBreaksOffIsAnError(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(HeaderAPI, API)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 100_000))
		panic(http.ErrAbortHandler)
	})
	if _, err := client.Backup(t.Context(), &bytes.Buffer{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("err %v", err)
	}
}

func TestABackupOfAStoppedQueueIsRefusedWithAReason(t *testing.T) {
	c := startDaemon(t)
	if err := c.queue.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Backup(t.Context(), &bytes.Buffer{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != Stopping {
		t.Errorf("err %v", err)
	}
}
