package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
)

const (
	keyFile   = "service-account.key"
	tokenFile = "tokens.csv"
)

// writeCredentials writes into dir the key that signs tokens of service accounts
// (the server does not start without one) and the token of the administrator.
func writeCredentials(dir, token string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return errors.Join(
		os.WriteFile(filepath.Join(dir, keyFile), block, 0o600),
		os.WriteFile(filepath.Join(dir, tokenFile), []byte(token+",admin,1,system:masters\n"), 0o600),
	)
}
