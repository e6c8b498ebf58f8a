package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
)

func TestTheCertificateThatIsInTheFileIsJudged(t *testing.T) {
	conf := &config.Config{Storage: config.Storage{Path: filepath.Join(t.TempDir(), "t.db")}}
	assert.Equal(t, len(Certificates(conf, "")), 0, "without TLS")
	conf.Receiver.TLS.ACME = config.ACME{Name: "kitchen.example.com", Directory: "https://ca.example.com/dir"}
	got := Certificates(conf, "\x1b[2J")
	assert.True(t, len(got) == 1 && strings.HasPrefix(got[0].ID, finding.NoCertificate) &&
		strings.HasSuffix(got[0].Detail, ": \ufffd[2J"), "before there is one", got)
	path, _ := conf.WebhookFiles()
	assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	writeCertificate(t, path, time.Now().Add(time.Hour))
	got = Certificates(conf, "")
	assert.Equal(t, got[0].Text, "webhook: it expires in 59m")
	writeFile(t, path, "nothing")
	got = Certificates(conf, "")
	assert.Equal(t, got[0].ID, "certificate/unreadable/webhook")
}

func TestADatabaseBehindASymbolicLinkIsJudgedByItsOwnDisk(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "t.db"), filepath.Join(t.TempDir(), "link.db")
	assert.NoError(t, errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)))
	found := storeFindings(t.Context(), "", &config.Config{Storage: config.Storage{Path: link}})
	assert.True(t, len(found) != 0 && strings.HasSuffix(found[0].String(), "(at "+filepath.Dir(file)+")"), found)
}

func TestASetupThatCannotBeUsedLeavesNoFilesAndAFolderMayBeThere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ticketrail")
	s := NewSetup()
	s.Timezone = "Mars/Base"
	_, err := s.Write(t.Context(), filepath.Join(folder, "ticketrail.yaml"))
	assert.True(t, err != nil, "it is written")
	_, err = os.Stat(folder)
	assert.True(t, errors.Is(err, fs.ErrNotExist), "the folder is still there", err)

	s.Timezone = "UTC"
	assert.NoError(t, os.Mkdir(folder, 0o700)) // somebody else has made it
	_, err = s.Write(t.Context(), filepath.Join(folder, "ticketrail.yaml"))
	assert.NoError(t, err)
}

// writeCertificate writes a certificate and its key into one file, as the daemon does.
func writeCertificate(t *testing.T, path string, ends time.Time) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	assert.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NoError(t, err)
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	writeFile(t, path, string(both))
}
