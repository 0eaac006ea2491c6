// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
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
	"sluice.dev/test/pipelinetest"
)

// climate is what a history runs in, the same from its start to its end.
type climate struct {
	// lag: stages see what people write when their watch tells, as in standalone.
	lag bool
	// lanes: a stage never handles two events of one partition key at once.
	lanes bool
	// echo: sources tell of what stages wrote, too, and may lose events.
	echo bool
	// follow: the kinds that are watched follow the policies.
	follow bool
	// keeps: Redis outlives a restart.
	keeps bool
	// flights is how many events are handled at once.
	flights int
	// late: m3 joins later.
	late bool
	// pair: each stage runs in two processes.
	pair bool
	// placed: there are placements, and no policies.
	placed bool
	// versioned: there are gears, of two versions.
	versioned bool
	// shared: there are policies, too, and what is placed has several owners.
	shared bool
	// apart is by how much the hub's clock is ahead of that of the processes.
	apart time.Duration
	// frail: the hub fails often when it is to create a Work.
	frail bool
	// many is how many members there are; 0: those that histories are about.
	many int
}

// names are the names of the members.
func (c climate) names() []string {
	if c.many == 0 {
		return clusters
	}
	var all []string
	for n := range c.many {
		all = append(all, fmt.Sprintf("m%02d", n+1))
	}
	return all
}

// standalone is the climate of one process, knative that of many.
func (d drawer) climate() climate {
	if d.chance(50) {
		return climate{lag: true, lanes: true, follow: true, keeps: d.chance(30), flights: 1 + d.IntN(3), late: d.chance(15)}
	}
	return climate{echo: d.chance(40), lanes: d.chance(30), keeps: true, flights: 1 + d.IntN(3), late: d.chance(15), pair: d.chance(40)}
}

// world is the system, and all that is around it.
type world struct {
	climate
	ctx     context.Context
	hub     *pipelinetest.Hub
	members map[string]*pipelinetest.Member
	redis   *pipelinetest.Redis
	claims  *claims.Map
	// processes are those that run, each with all stages.
	processes []map[string]function.Stage
	sweeper   *sweeper.Stage
	now       time.Time

	broker  broker
	follows map[string]bool
	noRedis bool
	// missed is what sources lost since the last tick.
	missed []hub.Change
	// meddled are the bindings whose kept content people wrote or deleted.
	meddled map[propagation.BindingKey]bool
	// frozen are the contents that were ever kept.
	frozen map[keptContent]bool
	// orphans are what members may have although nothing on the hub tells of it.
	orphans map[place]bool
	// overrides are all that there ever were.
	overrides []propagation.PolicyKey
	// left are the clusters that were ever unjoined, and stranded the objects that
	// they, and members that went back, may have beyond what the hub knows of.
	left     map[string]bool
	stranded map[place]bool
	// refused are the requests that Sluice has no right to.
	refused refusals
	// backups are what was kept of members.
	backups   map[string]backup
	hubBackup hubBackup
	// writes counts requests of stages that would change something.
	writes atomic.Int64

	// did counts what the second family does besides, where that changed anything.
	did map[verb]int

	gears   gears
	placing placing
	past    past
	safety  safety
	trace   func(format string, args ...any)
	err     error
}

// start makes a world, whose Redis is a fresh one.
func start(c climate, redis *pipelinetest.Redis, routes *pipelinetest.Routes) *world {
	w := &world{
		climate: c, ctx: context.Background(), redis: redis, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		members: map[string]*pipelinetest.Member{}, left: map[string]bool{}, stranded: map[place]bool{}, backups: map[string]backup{}, did: map[verb]int{}, meddled: map[propagation.BindingKey]bool{}, orphans: map[place]bool{}, frozen: map[keptContent]bool{}, trace: func(string, ...any) {},
	}
	redis.Ask = nil
	redis.FlushAll(w.ctx)
	redis.ScriptFlush(w.ctx) // a script that is not known takes two requests
	redis.Pass(0, w.now)
	redis.Ask = w.askRedis
	w.hub = pipelinetest.NewHub(pipelinetest.Options{Lag: c.lag, Now: w.hubTime})
	w.hub.Ask, w.hub.Wrote, w.hub.Lost, w.hub.Watching = w.ask, w.wrote, w.loses, w.watches
	for _, name := range c.names() {
		m := pipelinetest.NewMember(name)
		m.Ask, m.Wrote, m.Lost = w.askMember, w.wroteMember, w.loses
		w.members[name] = m
		if !c.late || name != "m3" {
			w.hub.Join(name)
		}
	}
	w.gears.begin(w)
	w.broker.routes = routes
	w.placing.passed, w.placing.several = map[place]bool{}, map[place]bool{}
	w.safety.init()
	w.past.begin(w)
	w.assemble()
	w.boot()
	return w
}

func (w *world) time() time.Time { return w.now }

// hubTime is the time by the hub's clock.
func (w *world) hubTime() time.Time { return w.now.Add(w.apart) }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.redis.Pass(d, w.now)
}

// assemble makes the stages, as a process that starts does.
func (w *world) assemble() {
	w.processes = []map[string]function.Stage{w.process()}
	if w.pair {
		w.processes = append(w.processes, w.process())
	}
}

// process makes the stages of one process.
func (w *world) process() map[string]function.Stage {
	index := claims.New(w.redis)
	suspensions := suspending{suspension.New(w.redis), w}
	w.claims, w.sweeper = index, sweeper.New(w.hub, index, positions.New(w.redis), w.probe, w.time)
	stages := map[string]function.Stage{}
	placements, fleet := scheduler.Placements(unplaced{}), scheduler.Clusters(w.hub)
	if w.placed {
		placements, fleet = decidersHub{w.hub, w}, decidersHub{w.hub, w}
		w.sweeper.Mirroring(pipelinetest.Mirrored{Hub: w.hub}, unused)
		for _, s := range []function.Stage{placer.New(w.hub, pending.New(w.redis), nil, w.time), rollout.New(w.hub, w.time)} {
			stages[s.Name()] = s
		}
	}
	for _, s := range []function.Stage{
		detector.New(w.hub, index, index, suspensions),
		preemptor.New(w.hub, index),
		gate.New(w.hub, w.time),
		dependencies.New(w.hub, suspensions),
		scheduler.New(w.hub, fleet, placements, w.hub, w.time),
		renderer.New(renderersHub{w.hub}, w.time),
		applier.New(w.hub, suspensions, func(ctx context.Context, c string) (applier.Member, error) { return w.member(ctx, c) }, w.time).Sequential(),
		reporter.New(reportersHub{w.hub}, func(ctx context.Context, c string) (reporter.Member, error) { return w.member(ctx, c) }, w.time),
		w.sweeper,
	} {
		stages[s.Name()] = s
	}
	return stages
}

func (w *world) member(ctx context.Context, cluster string) (*pipelinetest.Member, error) {
	if _, err := w.hub.Cluster(ctx, cluster); err != nil {
		return nil, err
	}
	return w.members[cluster], nil
}

func (w *world) probe(_ context.Context, cluster string) (string, error) {
	return w.members[cluster].Probe()
}

// boot is what standalone does when it starts: Redis is built, and everything
// that there is, is announced as just added.
func (w *world) boot() {
	w.follows = map[string]bool{}
	all := w.hub.Restart()
	build := w.sweeper.Rebuild
	if w.follow {
		build = w.sweeper.Start
		w.past.lose()
	}
	err := build(w.ctx)
	if errors.Is(err, outcome.ErrNotServed) && w.makeKinds() { // a process waits for the kinds of Sluice
		err = build(w.ctx)
	}
	if err != nil {
		w.fail("rebuild at the start: %v", err)
	}
	w.followPolicies(false)
	w.remember()
	if !w.follow { // the sweeper asks for what went, too
		all = append(all, w.went()...)
	}
	for _, c := range all {
		if w.watches(c.Key) {
			w.announce(c)
		}
	}
	for _, name := range w.names() {
		for _, n := range w.members[name].Restart() {
			w.announceMember(name, n)
		}
	}
}

// restart ends everything, and starts it again: whatever was queued is lost.
func (w *world) restart() {
	w.broker.clear()
	if !w.keeps {
		w.loseRedis()
	}
	w.noRedis, w.missed, w.refused = false, nil, refusals{}
	w.pass(40 * time.Second) // a lock of a rebuild that died has expired
	w.assemble()
	w.boot()
}

// loseRedis takes all of Redis away.
func (w *world) loseRedis() {
	w.redis.FlushAll(w.ctx)
	w.past.lose()
}

// fail ends the history.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

type flightKey struct{}

// flight is one event that is being handled.
type flight struct {
	w         *world
	delivery  delivery
	stage     function.Stage
	coroutine *pipelinetest.Coroutine
	// since is the prefix of the history at which this attempt began.
	since int
	// reasons held back each of the flight's Works, by its cluster, when this attempt
	// began.
	reasons map[string]map[string]bool
	// members are those that were seen last.
	members []*memberclusterv1.MemberCluster
	// asking is what was read of evictions, and rivals are the Works that wanted each
	// object when this attempt began.
	asking asking
	rivals map[place]map[propagation.WorkKey]bool
	// tick is how far the proofs had come.
	tick int
	// asked counts alike requests, so that each has a fate of its own.
	mu    sync.Mutex
	asked map[string]int
	fate  uint64
	out   []event.Event
	err   error
	done  bool
}

func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

const conflictRetries = 5

// run handles the event, and reads again in process where a race was lost.
func (f *flight) run(ctx context.Context) {
	ctx = context.WithValue(ctx, flightKey{}, f)
	for n := 0; ; n++ {
		f.since = f.w.past.last()
		f.w.safety.begin(f)
		f.out, f.err = f.stage.Handle(ctx, f.delivery.event)
		if !outcome.IsConflict(f.err) || n == conflictRetries {
			break
		}
	}
	f.done = true
}

// Errors that a fate brings.
var (
	errUnavailable = errors.New("the service is unavailable")
	errLost        = errors.New("the race is lost")
)

// ask lets others have their turn, and says no now and then.
func (w *world) ask(ctx context.Context, r pipelinetest.Request) error {
	f := flightOf(ctx)
	if !f.parallel(r) {
		pipelinetest.Pause(ctx)
	}
	if f != nil && w.refused.refuse(r) {
		return forbidden(r)
	}
	if r.Writes() {
		w.writes.Add(1)
	}
	if f == nil || f.fate == 0 {
		return nil
	}
	switch n := f.chance(r.String()); {
	case n < 5, w.frail && n < 400 && strings.HasPrefix(r.String(), "create work "):
		return errUnavailable
	case n < 20 && r.Writes():
		return outcome.Conflict(errLost)
	}
	return nil
}

// loses tells whether the answer to a request that was done gets lost.
func (w *world) loses(ctx context.Context, r pipelinetest.Request) bool {
	f := flightOf(ctx)
	return f != nil && f.fate != 0 && f.chance("the answer to "+r.String()) < 8
}

// parallel tells whether a stage makes several such requests at once, which are one
// turn: the renderer writes Works with their contents, and the namespaces that they
// need, and lets go of a placement's bindings; the reporter asks for Works.
func (f *flight) parallel(r pipelinetest.Request) bool {
	if f == nil {
		return false
	}
	about := r.About
	for _, of := range []string{"finalizers of ", "status of ", "contents of "} {
		about = strings.TrimPrefix(about, of)
	}
	what, _, _ := strings.Cut(about, " ")
	switch f.delivery.stage {
	case renderer.Name:
		written := what == "work" || what == placementv1.KindClusterResourceBinding
		return written && r.Writes() || what == "work" && strings.HasPrefix(r.About, "contents of ") || what == "cluster" || what == "namespace"
	case reporter.Name:
		return what == "work" && r.Verb == "get"
	}
	return false
}

// renderersHub lets others have their turn before the renderer writes several
// Works at once, which is one turn.
type renderersHub struct{ *pipelinetest.Hub }

// Clusters is the last that the renderer reads.
func (h renderersHub) Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	all, err := h.Hub.Clusters(ctx)
	pipelinetest.Pause(ctx)
	return all, err
}

// reportersHub lets others have their turn between a binding and its Works, which are
// read at once.
type reportersHub struct{ *pipelinetest.Hub }

// Binding is the last that the reporter reads before them.
func (h reportersHub) Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	b, err := h.Hub.Binding(ctx, key)
	pipelinetest.Pause(ctx)
	return b, err
}

func (w *world) askMember(ctx context.Context, r pipelinetest.Request) error {
	pipelinetest.Pause(ctx)
	f := flightOf(ctx)
	if r.Writes() {
		w.trace("    - %s", r)
		w.writes.Add(1)
	}
	if f != nil && f.fate != 0 && f.chance(r.String()) < 10 {
		return errUnavailable
	}
	return nil
}

func (w *world) askRedis(ctx context.Context, run func() error) error {
	f := flightOf(ctx)
	if f != nil {
		pipelinetest.Pause(ctx)
	}
	if w.noRedis {
		return pipelinetest.ErrRedisDown
	}
	n := 1000
	if f != nil && f.fate != 0 {
		n = f.chance("redis")
	}
	if n < 3 {
		return errUnavailable
	}
	err := run()
	if n < 6 {
		return errUnavailable // the answer is lost
	}
	return err
}

// chance is a number below 1000 that follows from the fate and the request, and
// not from the order of requests: that may differ between two runs.
func (f *flight) chance(request string) int {
	f.mu.Lock()
	n := f.asked[request]
	f.asked[request]++
	f.mu.Unlock()
	h := f.fate
	for _, b := range []byte(request) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	h = (h ^ uint64(n)) * 0x9e3779b97f4a7c15                //nolint:gosec // a count
	return int(rand.New(rand.NewPCG(h, 7)).Uint64() % 1000) //nolint:gosec // a draw
}

// template is the template that a Work is of.
func templateOf(work *propagation.Work) propagation.TemplateKey {
	key, err := work.Template()
	if err != nil {
		return propagation.TemplateKey{}
	}
	return key
}

// unplaced is a hub without placements.
type unplaced struct{ placements }

type placements = scheduler.Placements

func (unplaced) Evictions(context.Context) ([]*placementv1.ClusterResourcePlacementEviction, error) {
	return nil, nil
}

func (unplaced) Eviction(context.Context, string) (*placementv1.ClusterResourcePlacementEviction, error) {
	return nil, outcome.ErrGone
}

func (unplaced) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return nil, nil
}
