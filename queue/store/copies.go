package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The folder of the copies has base copies, 00000012.db, and logs, 00000012.log. A log begins before the base copy of
// its number is made, so a base copy and the logs from its own number on are all that was ever committed. The database
// has the number too: see CopyRecord.
//
// A log has lines of JSON that a person can read. Each begins with the CRC32C of the rest of the line. The first line
// names the database.

// Copies are the numbers of the files in a folder of copies, in order.
type Copies struct {
	dir         string
	Bases, Logs []uint64
	Hangs       error // a file could not be read in time; then none is read any more
}

// maxNumber would take a thousand years, one an hour. A file with a higher number was put there by somebody, for
// example a backup that is called 20261128.db.
const maxNumber = 9_999_999

// ReadCopies lists a folder. One that is not there has no copies.
func ReadCopies(dir string) (Copies, error) {
	copies := Copies{dir: dir}
	entries, err := within(func() ([]fs.DirEntry, error) { return os.ReadDir(dir) })
	if errors.Is(err, fs.ErrNotExist) {
		return copies, nil
	}
	if err != nil {
		return copies, err
	}

	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		number, err := strconv.ParseUint(name, 10, 64)
		switch path := filepath.Join(dir, e.Name()); {
		case err != nil || number == 0 || number > maxNumber:
		case path == copies.Base(number):
			copies.Bases = append(copies.Bases, number)
		case path == copies.Log(number):
			copies.Logs = append(copies.Logs, number)
		}
	}

	slices.Sort(copies.Bases)
	slices.Sort(copies.Logs)
	return copies, nil
}

// Base and Log are the paths of the files with that number.
func (c *Copies) Base(n uint64) string { return filepath.Join(c.dir, fmt.Sprintf("%08d.db", n)) }
func (c *Copies) Log(n uint64) string  { return filepath.Join(c.dir, fmt.Sprintf("%08d.log", n)) }

// None says that there is neither a base copy nor a log.
func (c *Copies) None() bool { return len(c.Bases)+len(c.Logs) == 0 }

// Newest is the highest number in use; 0: none is.
func (c *Copies) Newest() uint64 { return max(lastOf(c.Bases), lastOf(c.Logs)) }

// lastOf is the last of some numbers, which are in order; 0: there is none.
func lastOf(numbers []uint64) uint64 {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[len(numbers)-1]
}

// Since returns the first log of those that follow each other up to the newest; 0: there is none.
func (c *Copies) Since() (first uint64) {
	for _, n := range slices.Backward(c.Logs) {
		if first != 0 && n != first-1 {
			break
		}
		first = n
	}
	return first
}

// Database names the database of the newest log that can be read. Empty: none can be read.
func (c *Copies) Database() string {
	for _, n := range slices.Backward(c.Logs) {
		if header, err := c.Header(n); err == nil {
			return header.Database
		}
	}
	return ""
}

// Follow returns the first log that a file with that record needs; 0: there is none. Of another database, foreign, it
// is the first that there is: the orders in the log are this box's, whoever has replaced the file. A file is too old if
// a base copy is newer and the log does not go back as far as the file. Without such a base copy the file is the best
// there is: on a new disk of copies a crash can leave a log and no base copy.
func (c *Copies) Follow(r CopyRecord) (first uint64, foreign bool, err error) {
	since := c.Since()
	if name := c.Database(); name != "" && name != r.Database {
		return since, true, nil
	}

	first = max(r.Number, 1)
	switch {
	case first > lastOf(c.Logs):
		return 0, false, nil
	case first < since && lastOf(c.Bases) > first:
		return 0, false, fmt.Errorf("%w: it is older than the copies in %s", ErrDamaged, c.dir)
	}
	return max(first, since), false, nil
}

// A CopyRecord is stored in the file: which database it is, and the number of the log that began last. A file with a
// lower number than the oldest log is older than the copies; one of another database was put there by somebody.
type CopyRecord struct {
	Database string `json:"database"`
	Number   uint64 `json:"number"`
}

// A LogHeader is the first line of a log.
type LogHeader struct {
	Log      uint64    `json:"log"`
	Database string    `json:"database"`
	Began    time.Time `json:"at"`
}

// Header reads the first line of a log.
func (c *Copies) Header(n uint64) (h LogHeader, err error) {
	_, err = c.Read(n, func(line []byte) error {
		if json.Unmarshal(line, &h) != nil {
			h = LogHeader{}
		}
		return io.EOF
	})

	if h.Log == 0 {
		return LogHeader{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return h, nil
}

// A LogEnd is the last line of a log.
type LogEnd struct {
	At     time.Time `json:"at"`
	Closed bool      `json:"closed"` // the daemon stopped: the log has all that it did
}

// Last reads the newest log to its end; zero: there is none.
func (c *Copies) Last() (last LogEnd, err error) {
	if len(c.Logs) == 0 {
		return last, nil
	}

	_, err = c.Read(lastOf(c.Logs), func(line []byte) error {
		end := LogEnd{}
		if json.Unmarshal(line, &end) == nil {
			last = end
		}
		return nil
	})

	return last, err
}

// Read calls f with each line of a log whose checksum is right, and counts the others. The last line may be torn,
// because a process or the power ended while it was written: it does not count.
func (c *Copies) Read(n uint64, f func(line []byte) error) (damaged int, err error) {
	defer func() {
		if errors.Is(err, ErrHangs) {
			c.Hangs = err
		}
	}()

	if c.Hangs != nil {
		return 0, c.Hangs
	}

	file, err := openCopy(c.Log(n))
	if err != nil {
		return 0, err
	}
	defer file.Close()

	var raw []byte
	for reader := bufio.NewReaderSize(file, 64<<10); ; {
		raw, err = readLine(reader, raw[:0])
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

// maxLine is more than the longest line that is written: 32 MiB of tickets and their body, of which 8 MiB may take six
// times as much in JSON. Only the beginning of a longer line is read, and its checksum is wrong.
const maxLine = 76 << 20

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

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // the CRC that processors compute in hardware

// lineHead begins each line; the checksum is in its place %08x.
const lineHead = `{"crc":"%08x",`

// AppendLine appends v, which is a JSON object, as a line with its checksum. more appends members to it.
//
// The object is written so that its brace stands where the head of the line has its comma. Then the head, with the
// checksum, is written over the brace. unsealLine puts the brace back.
func AppendLine(lines *bytes.Buffer, v any, more func()) error {
	start := lines.Len()
	fmt.Fprintf(lines, lineHead, 0)
	head := lines.Len() - start
	lines.Truncate(lines.Len() - 1) // the object begins here, with a brace

	encoder := json.NewEncoder(lines)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		lines.Truncate(start)
		return err
	}

	lines.Truncate(lines.Len() - len("}\n"))
	more()
	lines.WriteByte('}')

	line := lines.Bytes()[start:]
	copy(line, fmt.Appendf(nil, lineHead, crc32.Checksum(line[head:], castagnoli)))
	lines.WriteByte('\n')
	return nil
}

// unsealLine returns the object of a line, without its end. It changes the line.
func unsealLine(line []byte) ([]byte, bool) {
	head := len(fmt.Sprintf(lineHead, 0))
	if len(line) < head {
		return nil, false
	}

	rest := line[head:]
	if string(line[:head]) != fmt.Sprintf(lineHead, crc32.Checksum(rest, castagnoli)) {
		return nil, false
	}

	line[head-1] = '{' // in place of the comma
	return line[head-1:], true
}

// OpenLog opens a log to append to it. If its last line is torn, the next one begins behind it.
func OpenLog(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}

	info, err := file.Stat()
	last := []byte("\n")
	if err == nil && info.Size() > 0 {
		_, err = file.ReadAt(last, info.Size()-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = file.Write([]byte("\n"))
	}

	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// CreateLog makes a log with its header, durably.
//
// A crash before the rename leaves a temporary file, which the next base copy removes. A crash after it leaves an empty
// Log, and the one before is still complete: it ends where this one begins.
func CreateLog(path string, h LogHeader, s Hooks) (*os.File, error) {
	file, err := os.OpenFile(path+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}

	var line bytes.Buffer
	if err = AppendLine(&line, h, func() {}); err == nil {
		_, err = file.Write(line.Bytes())
	}

	if err == nil {
		err = publish(file, path, s)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// publish gives a file that is complete, and has the temporary name, its own name, durably.
func publish(file *os.File, path string, s Hooks) error {
	if err := s.Sync(file); err != nil {
		return err
	}
	if err := s.Rename(path+tempSuffix, path); err != nil {
		return err
	}
	return syncDir(path, s)
}

// tempSuffix is the suffix of a file in the folder of copies that is not complete.
const tempSuffix = ".part"
