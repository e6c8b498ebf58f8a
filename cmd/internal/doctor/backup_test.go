package doctor

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"ticketrail/cmd/internal/admin"
	"ticketrail/deploy/assert"
)

// TestABackupIsWrittenInParts that the disk has before the next one: the orders that come in are written to the same
// disk, perhaps, and wait behind it.
func TestABackupIsWrittenInParts(t *testing.T) {
	const all, part = 4 << 20, 1 << 20
	dir, err := os.MkdirTemp("", "") // short: it is the path of a socket
	assert.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })

	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	assert.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(admin.HeaderAPI, admin.API)
		_, _ = w.Write(bytes.Repeat([]byte("x"), all))
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })

	file, err := os.Create(filepath.Join(dir, "b.db"))
	assert.NoError(t, err)
	defer file.Close()

	synced := int64(0)
	_, err = Backup(t.Context(), admin.NewClient(listener.Addr().String()), file, func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		assert.True(t, info.Size()-synced <= part, "bytes are written at once", info.Size()-synced)
		synced = info.Size()
		return nil
	})
	assert.True(t, err == nil && synced == all, "bytes are synced", synced, err)
}
