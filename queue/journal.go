package queue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The folder of the copies has base copies, 00000012.db, and logs, 00000012.log. A log begins before the base copy of
// its number is made, so a base copy and the logs from its own number on are all that was ever committed. The database
// has the number too: see copyRecord.
//
// A log has lines of JSON that a person can read. Each begins with the CRC32C of the rest of the line. The first line
// names the database.

// copyFiles are the numbers of the files in a folder of copies, in order.
type copyFiles struct {
	dir         string
	bases, logs []uint64
	hangs       error // a file could not be read in time; then none is read any more
}

// maxNumber would take a thousand years, one an hour. What has a higher number was put there by somebody, for example
// a backup that is called 20261128.db.
const maxNumber = 9_999_999

// readCopyFiles lists a folder. One that is not there has no copies.
func readCopyFiles(dir string) (copyFiles, error) {
	c := copyFiles{dir: dir}
	entries, err := within(func() ([]fs.DirEntry, error) { return os.ReadDir(dir) })
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		n, err := strconv.ParseUint(name, 10, 64)
		switch path := filepath.Join(dir, e.Name()); {
		case err != nil || n == 0 || n > maxNumber:
		case path == c.base(n):
			c.bases = append(c.bases, n)
		case path == c.log(n):
			c.logs = append(c.logs, n)
		}
	}
	slices.Sort(c.bases)
	slices.Sort(c.logs)
	return c, nil
}

func (c *copyFiles) base(n uint64) string { return filepath.Join(c.dir, fmt.Sprintf("%08d.db", n)) }
func (c *copyFiles) log(n uint64) string  { return filepath.Join(c.dir, fmt.Sprintf("%08d.log", n)) }

func (c *copyFiles) none() bool { return len(c.bases)+len(c.logs) == 0 }

// newest is the highest number in use; 0: none is.
func (c *copyFiles) newest() (n uint64) {
	for _, all := range [][]uint64{c.bases, c.logs} {
		if len(all) > 0 {
			n = max(n, all[len(all)-1])
		}
	}
	return n
}

// since returns the first log of those that follow each other up to the newest; 0: there is none.
func (c *copyFiles) since() (first uint64) {
	for _, n := range slices.Backward(c.logs) {
		if first != 0 && n != first-1 {
			break
		}
		first = n
	}
	return first
}

// database names the database of the newest log that can be read, and when that log began. Empty: none can be read.
func (c *copyFiles) database() string {
	for _, n := range slices.Backward(c.logs) {
		if h, err := c.header(n); err == nil {
			return h.Database
		}
	}
	return ""
}

// follow returns the first log that a file with that record needs; 0: there is none. Of another database, foreign, it
// is the first that there is: what is in the log was ordered here, whoever has replaced the file. A file is too old if
// a base copy is newer and the log does not go back to it. Without such a base copy nothing is better than the file: on
// a new disk of copies a crash can leave a log and no base copy.
func (c *copyFiles) follow(r copyRecord) (first uint64, foreign bool, err error) {
	newest, since := uint64(0), c.since()
	if len(c.logs) > 0 {
		newest = c.logs[len(c.logs)-1]
	}
	if name := c.database(); name != "" && name != r.Database {
		return since, true, nil
	}
	first = max(r.Number, 1)
	switch {
	case first > newest:
		return 0, false, nil
	case first < since && len(c.bases) > 0 && c.bases[len(c.bases)-1] > first:
		return 0, false, fmt.Errorf("%w: it is older than the copies in %s", ErrDamaged, c.dir)
	}
	return max(first, since), false, nil
}

// A logHeader is the first line of a log.
type logHeader struct {
	Log      uint64    `json:"log"`
	Database string    `json:"database"`
	Began    time.Time `json:"at"`
}

// header reads the first line of a log.
func (c *copyFiles) header(n uint64) (h logHeader, err error) {
	first := true
	_, err = c.read(n, func(line []byte) error {
		if !first || json.Unmarshal(line, &h) != nil || h.Log == 0 {
			return io.ErrUnexpectedEOF
		}
		first = false
		return io.EOF
	})
	if errors.Is(err, io.EOF) && h.Log != 0 {
		return h, nil
	}
	return logHeader{}, errors.Join(err, io.ErrUnexpectedEOF)
}

// A logEnd is what the last line of a log says.
type logEnd struct {
	At     time.Time `json:"at"`
	Closed bool      `json:"closed"` // the daemon stopped: the log has all that it did
}

// end reads a log to its end.
func (c *copyFiles) end(n uint64) (last logEnd, err error) {
	_, err = c.read(n, func(line []byte) error {
		l := logEnd{}
		if json.Unmarshal(line, &l) == nil {
			last = l
		}
		return nil
	})
	return last, err
}

// last is the end of the newest log; zero: there is none.
func (c *copyFiles) last() (logEnd, error) {
	if len(c.logs) == 0 {
		return logEnd{}, nil
	}
	return c.end(c.logs[len(c.logs)-1])
}

// read calls f with each line of a log whose checksum is right, and counts the others. The last line may be torn,
// because a process or the power ended while it was written: it does not count.
func (c *copyFiles) read(n uint64, f func(line []byte) error) (damaged int, err error) {
	defer func() {
		if errors.Is(err, errHangs) {
			c.hangs = err
		}
	}()
	if c.hangs != nil {
		return 0, c.hangs
	}
	file, err := openCopy(c.log(n))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var raw []byte
	for r := bufio.NewReaderSize(file, 64<<10); ; {
		raw, err = readLine(r, raw[:0])
		if errors.Is(err, io.EOF) {
			return damaged, nil
		}
		if err != nil {
			return damaged, err
		}
		line, ok := unsealLine(bytes.TrimSuffix(raw, []byte("\n")))
		switch {
		case ok:
			if err := f(line); err != nil {
				return damaged, err
			}
		case len(raw) > 1:
			damaged++
		}
	}
}

// maxLine is more than the longest line that is written: a body of 8 MiB in a string, with its tickets. Of what is
// longer only the beginning is read, and its checksum is wrong.
const maxLine = 32 << 20

// readLine appends the next line.
func readLine(r *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// readWithin bounds a read from the folder of copies. A disk that is about to fail can block one for ever, and the
// daemon must start: it does so without the copy.
const readWithin = 10 * time.Second

var errHangs = fmt.Errorf("its disk has not answered for %s", readWithin)

// within returns what f does, or gives up.
func within[T any](f func() (T, error)) (v T, err error) {
	done := make(chan struct{})
	var result T
	var failed error
	go func() {
		defer close(done)
		result, failed = f()
	}()
	select {
	case <-done:
		return result, failed
	case <-time.After(readWithin):
		return v, errHangs
	}
}

// A copyReader reads a file of the folder, as [within] says.
type copyReader struct {
	file *os.File
	buf  []byte // of its own: a read that was given up may still end
}

func openCopy(path string) (*copyReader, error) {
	f, err := within(func() (*os.File, error) { return os.Open(path) })
	return &copyReader{file: f}, err
}

func (r *copyReader) Read(p []byte) (int, error) {
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	n, err := within(func() (int, error) { return r.file.Read(r.buf[:min(len(p), len(r.buf))]) })
	return copy(p, r.buf[:n]), err
}

func (r *copyReader) Close() error { return r.file.Close() }

var errShared = errors.New("another ticketrail has its copies there: give each its own folder, see storage.copy")

// lockFolder keeps others from a folder of copies until the result is closed. A folder that is not there is locked by
// nobody, and one whose filesystem has no locks by everybody.
func lockFolder(dir string) (*os.File, error) {
	f, err := within(func() (*os.File, error) { return os.Open(dir) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, errShared), f.Close())
	}
	return f, err
}

// openLog opens a log to append to it. If its last line is torn, the next one begins behind it.
func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	last := []byte("\n")
	if err == nil && info.Size() > 0 {
		_, err = f.ReadAt(last, info.Size()-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = f.Write([]byte("\n"))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// createLog makes a log with its header, durably.
//
// A crash before the rename leaves a temporary file, which the next base copy removes. A crash after it leaves an empty
// log, and the one before is still complete: it ends where this one begins.
func createLog(path string, h logHeader, s storageHooks) (*os.File, error) {
	f, err := os.OpenFile(path+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err = appendLine(&line, h, func() {}); err == nil {
		_, err = f.Write(line.Bytes())
	}
	if err == nil {
		err = s.sync(f)
	}
	if err == nil {
		err = s.rename(path+tempSuffix, path)
	}
	if err == nil {
		err = syncDir(path, s)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// tempSuffix is that of a file in the folder of copies that is not complete.
const tempSuffix = ".part"
