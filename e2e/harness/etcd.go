package harness

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// maxSocketPath is the length that the kernel allows for the path of a unix
// socket, without its final zero byte.
const maxSocketPath = 107

// startEtcd runs a single etcd that keeps its data and its sockets in dir, and
// returns it with the address of its clients.
func startEtcd(ctx context.Context, dir string) (*embed.Etcd, string, error) {
	client := url.URL{Scheme: "unix", Path: filepath.Join(dir, "c")}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "p")}
	if len(client.Path) > maxSocketPath {
		return nil, "", fmt.Errorf("etcd: the path of its socket is longer than %d bytes: %s", maxSocketPath, client.Path)
	}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true // the data need not outlive the test
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(errorLog())
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, client.String(), nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	etcd.Close()
	return nil, "", fmt.Errorf("etcd does not become ready: %w", err)
}

// errorLog drops the hundreds of lines in which etcd tells of a good start, and
// the complaints about its own closed sockets at a good end, which have the
// level of an error and not of a fatal one.
func errorLog() *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), zapcore.DPanicLevel))
}
