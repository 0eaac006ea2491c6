// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/config"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/localbroker"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/pkg/pipeline/detector"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/pkg/pipeline/placer"
	"sluice.dev/pkg/pipeline/preemptor"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/pkg/pipeline/rollout"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/pending"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/suspension"
)

// Options of standalone.
type Options struct {
	// HubKubeconfig is the file that says how to reach the hub.
	HubKubeconfig string
	// Redis is the address of a Redis; empty: one of its own, which forgets
	// everything with the process.
	Redis string
	// Listen is the loopback address of health, metrics and flush.
	Listen string
	// Tick is how often what was missed is looked for.
	Tick time.Duration
	// Webhook serves admission, for a hub on this machine.
	Webhook bool
	// Out is where each handled event is told.
	Out io.Writer
}

// garbage is how much, in percent of what is alive, may be garbage before it is
// collected: the caches of hub and members are most of the memory, and live long. GOGC
// says otherwise. Without the ballast it may be a little more, or collecting it takes a
// third more computing time in a start.
const (
	garbage        = 35
	garbageInLarge = 41
)

// ballast counts as alive and is never touched, so that it takes no memory: a small heap
// may thus have that much more garbage, 45 MB, and is not collected several times a
// second, which took a quarter of the process's computing time with 200 templates. A heap
// that has become as large itself does without.
const ballast = 128 << 20

// carry holds the ballast until the heap is large, or ctx ends.
func carry(ctx context.Context) {
	heavy := make([]byte, ballast)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}; live[0].Value.Kind() == metrics.KindBad || live[0].Value.Uint64() < 2*ballast; metrics.Read(live) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
	runtime.KeepAlive(heavy)
	debug.SetGCPercent(garbageInLarge)
}

// Main is the whole of the program.
func Main() {
	var o Options
	flag.StringVar(&o.HubKubeconfig, "hub-kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of the hub")
	flag.StringVar(&o.Redis, "redis", "", "address of a Redis, as host:port (default: one in this process)")
	flag.StringVar(&o.Listen, "listen", "127.0.0.1:8090", "address of /healthz, /readyz, /metrics and POST /flush; loopback only")
	flag.DurationVar(&o.Tick, "tick", 2*time.Second, "how often what was missed is looked for")
	flag.BoolVar(&o.Webhook, "webhook", true, "fill in and judge policies before the hub stores them; only where the hub's address is a loopback one")
	flag.Parse()
	o.Out = os.Stdout
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
		go carry(ctx)
	}
	if err := Run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(1)
	}
}

// Run runs the pipeline until ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.HubKubeconfig == "" {
		return errors.New("no hub: name its kubeconfig with --hub-kubeconfig")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.HubKubeconfig)
	if err != nil {
		return fmt.Errorf("--hub-kubeconfig: %w", err)
	}
	cfg.UserAgent = "sluice/standalone"
	h, err := hub.Connect(cfg)
	if err != nil {
		return err
	}
	rdb, closeRedis, err := connectRedis(o.Redis)
	if err != nil {
		return err
	}
	defer closeRedis()
	ctx = function.WithLogger(ctx, slog.New(slog.NewTextHandler(io.Discard, nil)))
	group, ctx := errgroup.WithContext(ctx)
	p, err := assemble(ctx, h, rdb, o)
	if err != nil {
		return err
	}
	group.Go(func() error { return p.broker.Run(ctx) })
	group.Go(func() error { return p.serve(ctx, o.Listen) })
	group.Go(func() error {
		if err := p.admit(ctx, group, cfg, o); err != nil {
			return err
		}
		return p.source(ctx, o.Tick)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// connectRedis connects to a Redis, or starts one in this process.
func connectRedis(address string) (redis.UniversalClient, func(), error) {
	if address != "" {
		c := redis.NewClient(&redis.Options{Addr: address})
		return c, func() { _ = c.Close() }, nil
	}
	m, err := miniredis.Run()
	if err != nil {
		return nil, nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	return c, func() { _ = c.Close(); m.Close() }, nil
}

// pipeline is the process.
type pipeline struct {
	ctx      context.Context // of the process, for what outlives an event
	hub      *hub.Hub
	rdb      redis.UniversalClient
	claims   *claims.Map
	fleet    *member.Fleet
	broker   *localbroker.Broker
	registry *prometheus.Registry
	sweeper  *sweeper.Stage
	runner   function.Runner
	follower *follower
	loaded   chan struct{} // closed when all but templates is known
	ready    chan struct{}
	// memory is what was claimed or bound when this process started.
	memory atomic.Pointer[[]schema.GroupVersionKind]
	// lost is told when a stage finds that Redis lost its data.
	lost chan struct{}
}

// assemble makes the stages and puts them behind their Triggers.
func assemble(ctx context.Context, h *hub.Hub, rdb redis.UniversalClient, o Options) (*pipeline, error) {
	p := &pipeline{ctx: ctx, hub: h, rdb: rdb, claims: claims.New(rdb), fleet: member.NewFleet(h), registry: prometheus.NewRegistry(), loaded: make(chan struct{}), ready: make(chan struct{}), lost: make(chan struct{}, 1)}
	p.follower = newFollower(p)
	suspensions := suspension.New(rdb)
	p.runner = function.Runner{Metrics: function.NewMetrics(p.registry), Observe: p.observe(show(o.Out))}
	var err error
	if p.broker, err = localbroker.Load(config.Eventing, localbroker.Options{Runner: p.runner}); err != nil {
		return nil, err
	}
	p.registry.MustRegister(p.broker)
	p.sweeper = sweeper.New(h, p.claims, positions.New(rdb), p.fleet.Probe, h.Now).Mirroring(h, p.fleet.Usage).Listing(p.fleet.Kinds).Identifying(h, p.fleet.Identity)
	for _, s := range []function.Stage{
		detector.New(h, p.claims, p.claims, suspensions),
		preemptor.New(h, p.claims),
		gate.New(h, h.Now),
		dependencies.New(h, suspensions),
		scheduler.New(h, h, h, h, h.Now),
		renderer.New(h, h.Now),
		applier.New(h, suspensions, p.follower.appliers, h.Now),
		placer.New(h, pending.New(rdb), nil, h.Now),
		reporter.New(h, p.follower.reporters, h.Now),
		rollout.New(h, h.Now),
		p.sweeper,
	} {
		p.broker.Register(s)
	}
	return p, nil
}

// observe shows each line, and has the index rebuilt at once where a stage
// misses it.
func (p *pipeline) observe(show func(function.Line)) func(function.Line) {
	return func(l function.Line) {
		show(l)
		if errors.Is(l.Err, outcome.ErrNotBuilt) {
			select {
			case p.lost <- struct{}{}:
			default: // it is known
			}
		}
	}
}

// tick is the event that PingSource makes.
func tick(now time.Time) event.Event {
	e := event.New()
	e.SetID(now.UTC().Format(time.RFC3339Nano))
	e.SetType(events.Ping)
	e.SetSource(events.Source("standalone"))
	return e
}
