package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"ticketrail/deploy/assert"
)

// file.go reads bbolt's private meta pages and rewrites one. These tests compare its assumptions
// with the bbolt that is linked: a bbolt with another layout fails them.

func TestTheMetaPageIsReadAsBboltReadsIt(t *testing.T) {
	const metaFlag = 4
	host := binary.NativeEndian
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		t.Run(fmt.Sprintf("pages of %d", size), func(t *testing.T) {
			bboltFile(t, &bolt.Options{PageSize: size, NoSync: true}, 5, func(db *bolt.DB) {
				m := newest(t, db.Path())
				content, err := os.ReadFile(db.Path())
				assert.NoError(t, err)
				assert.True(t, m.pageSize == int64(size) && db.Info().PageSize == size, m.pageSize, db.Info().PageSize)
				page := content[m.at : m.at+m.pageSize]
				raw := page[pageHeader:]
				err = db.View(func(tx *bolt.Tx) error {
					assert.True(t, m.txid == uint64(tx.ID()) && m.need == uint64(tx.Size()), m, tx.ID(), tx.Size())
					assert.True(t, m.at == int64(tx.ID()%2*size) && host.Uint64(page) == uint64(tx.ID()%2) &&
						host.Uint16(page[8:]) == metaFlag, m.at, page[:pageHeader])
					assert.Equal(t, host.Uint64(raw[offRoot:]), uint64(tx.Cursor().Bucket().Root()))
					return nil
				})
				assert.NoError(t, err)
				assert.True(t, len(bytes.TrimLeft(raw[metaSize:], "\x00")) == 0, "there is more than these bytes", raw)
			})
		})
	}
}

// TestADamagedMetaPageIsValidExactlyWhenBboltSaysSo: whichever byte of the newest meta page is damaged, bbolt and
// this package use the same one of the two pages, whatever the size of a page.
func TestADamagedMetaPageIsValidExactlyWhenBboltSaysSo(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		for commits := 4; commits < 6; commits++ { // so that the newest is the first page once, and the second once
			path := bboltFile(t, &bolt.Options{PageSize: size, NoSync: true}, commits, nil)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			assert.NoError(t, err)
			defer f.Close()
			m := newest(t, path)
			for off := range pageHeader + metaSize + 8 {
				whole := make([]byte, 1)
				assert.NoError(t, errOf(f.ReadAt(whole, m.at+int64(off))))
				assert.NoError(t, errOf(f.WriteAt([]byte{whole[0] ^ 0x10}, m.at+int64(off))))
				want := m.txid
				if off >= pageHeader && off < pageHeader+metaSize {
					want--
				}
				got, n := state(t, path)
				assert.True(t, uint64(got) == want && n == fmt.Sprint(want), "bbolt takes", got, n, want, off)
				assert.Equal(t, newest(t, path).txid, want, off)
				assert.NoError(t, errOf(f.WriteAt(whole, m.at+int64(off))))
			}
			for page := range 2 {
				assert.NoError(t, errOf(f.WriteAt(make([]byte, pageHeader+metaSize), int64(page*size))))
			}
			m, ok := newestMeta(f)
			assert.True(t, !ok, "both are damaged", size, m)
		}
	}
}

// TestACopyOfAMetaPageAmongTheDataIsNotUsed: a body is stored as received, and may look like a meta page.
func TestACopyOfAMetaPageAmongTheDataIsNotUsed(t *testing.T) {
	path := bboltFile(t, BoltOptions(true), 4, nil)
	m := newest(t, path)
	content, err := os.ReadFile(path)
	assert.NoError(t, err)
	forged := append([]byte(nil), content[m.at:m.at+m.pageSize]...)
	raw := forged[pageHeader:]
	binary.NativeEndian.PutUint64(raw[offTxid:], m.txid+1)
	binary.NativeEndian.PutUint64(raw[offHighWater:], 1<<40)
	binary.NativeEndian.PutUint32(raw[offPageSize:], uint32(2*m.pageSize))
	sealMeta(raw)
	copy(content[2*m.pageSize:], forged)
	assert.NoError(t, os.WriteFile(path, content, 0o600))
	assert.Equal(t, newest(t, path), m)
}

func TestATruncatedFileIsRefusedWithoutACrash(t *testing.T) {
	path := bboltFile(t, BoltOptions(true), 50, nil)
	content, err := os.ReadFile(path)
	assert.NoError(t, err)
	need := int(newest(t, path).need)
	for n := 0; n < need; n += need/40 + 1 {
		assert.NoError(t, os.WriteFile(path, content[:n], 0o600))
		wantErr(t, opened(path), ErrDamaged)
		wantErr(t, Check(path, nothing), ErrDamaged)
	}
	assert.NoError(t, os.WriteFile(path, content[:need], 0o600))
	assert.NoError(t, Check(path, nothing))
}

func TestAFileOfAnotherBboltVersionIsRefusedWithoutACrash(t *testing.T) {
	path := bboltFile(t, BoltOptions(true), 4, nil)
	content, err := os.ReadFile(path)
	assert.NoError(t, err)
	size := int(newest(t, path).pageSize)
	for _, raw := range [][]byte{content[pageHeader:], content[size+pageHeader:]} {
		binary.NativeEndian.PutUint32(raw[4:], 99)
		sealMeta(raw)
	}
	assert.NoError(t, os.WriteFile(path, content, 0o600))
	for _, err := range []error{opened(path), Check(path, nothing)} {
		assert.True(t, err != nil && strings.Contains(err.Error(), "version"), err)
	}
}

func TestWhatIsNoFileOfBboltHasNoMetaPageToWrite(t *testing.T) {
	missing, rubbish := filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "rubbish")
	assert.NoError(t, os.WriteFile(rubbish, make([]byte, 16<<10), 0o600))
	wantErr(t, rewriteMeta(missing, System.Sync), os.ErrNotExist)
	wantErr(t, syncPath(missing, System), os.ErrNotExist)
	wantErr(t, rewriteMeta(rubbish, System.Sync), ErrDamaged)
}

// TestOfALineWithoutEndOnlyTheBeginningIsRead: a log that a disk has overwritten can be one line.
func TestOfALineWithoutEndOnlyTheBeginningIsRead(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var parts []io.Reader
	for range 2 * maxLine >> 20 {
		parts = append(parts, strings.NewReader(long))
	}
	r := bufio.NewReader(io.MultiReader(append(parts, strings.NewReader("\nnext\n"))...))
	line, err := readLine(r, nil)
	assert.True(t, err == nil && len(line) <= maxLine+r.Size(), len(line), err)
	line, err = readLine(r, nil)
	assert.True(t, err == nil && string(line) == "next\n", len(line), err)
}

// bboltFile makes a file with bbolt alone. Transaction n stores the value n under the key "n".
func bboltFile(t *testing.T, o *bolt.Options, commits int, each func(db *bolt.DB)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bbolt.db")
	db, err := bolt.Open(path, 0o600, o)
	assert.NoError(t, err)
	for range commits {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			_ = b.Put(fmt.Append(nil, "filler ", tx.ID()), make([]byte, 3000))
			return b.Put([]byte("n"), fmt.Append(nil, tx.ID()))
		})
		assert.NoError(t, err)
		if each != nil {
			each(db)
		}
	}
	assert.NoError(t, db.Close())
	return path
}

// state is the transaction that bbolt finds in a file, and the content of the file.
func state(t *testing.T, path string) (txid int, n string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	assert.NoError(t, err)
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		txid, n = tx.ID(), string(tx.Bucket([]byte("b")).Get([]byte("n")))
		return nil
	})
	assert.NoError(t, err)
	return txid, n
}

func newest(t *testing.T, path string) meta {
	t.Helper()
	f, err := os.Open(path)
	assert.NoError(t, err)
	defer f.Close()
	m, ok := newestMeta(f)
	assert.True(t, ok, "no valid meta page")
	return m
}

// sealMeta gives a meta page that a test has changed its checksum.
func sealMeta(raw []byte) {
	sum := fnv.New64a()
	sum.Write(raw[:offChecksum])
	binary.NativeEndian.PutUint64(raw[offChecksum:], sum.Sum64())
}

const offRoot = 16 // in a meta page

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	assert.True(t, errors.Is(err, want), err, want)
}

func errOf[T any](_ T, err error) error { return err }

// opened opens a file and closes it.
func opened(path string) error {
	db, _, err := Open(path, true, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	return db.Close()
}

// nothing is the content of a file that no queue has made.
var nothing = Contents{Check: func(*bolt.Tx) error { return nil }}
