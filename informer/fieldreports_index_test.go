package informer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fieldReports are the numbers of all reports that were collected.
var fieldReports = []int{
	1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 29, 31, 32, 33, 34, 35, 36, 38, 39,
	41, 42, 44, 45, 47, 48, 49, 51, 52, 55, 56, 57, 58, 60, 61, 62, 64, 65, 67, 68, 69, 71, 73, 74, 75, 76, 78, 79,
}

// elsewhere are the reports that TestFieldReports has no row for: those that other
// tests show better, and those that cannot happen, with the reason.
var elsewhere = []struct {
	number  int
	symptom string
	// tests show that it does not happen, as package.Test.
	tests string
	// reason says why there is no test, or why those tests.
	reason string
}{
	{4, "A streaming list takes many times the time and the memory of a list",
		"", "a matter of measure: make bench compares both at the first sync"},
	{17, "After a short outage caches are stale for half a minute, or all come back at once",
		"informer.TestManyInformersAreBackSoonAfterAnOutage", "it takes many informers"},
	{20, "The informer of a definition that was deleted lists for ever, and keeps what is gone",
		"informer.TestAResourceThatGoesAwayAndComesBackStartsAnew reflector.TestAResourceThatIsGoneAndComesBackIsListed reflector.TestTheObjectsOfAResourceThatIsGoneAreDeletedIfWanted", ""},
	{22, "One type that cannot be read blocks every controller",
		"informer.TestATypeThatCannotBeReadBlocksNobodyElse informer.TestATypeThatIsNotServedHoldsUpNobodyElseAndIsReadWhenServed", "it takes two types"},
	{23, "One object that lives keeps the memory of the whole list that it came in",
		"reflector.TestTheObjectsOfAListDoNotShareItsMemory", ""},
	{24, "A list needs many times the memory of what is kept",
		"reflector.TestAListPushesOnlyWhatDiffers reflector.TestAListPastItsBudgetIsPushedPageByPage", "make bench measures the peak"},
	{45, "Many readers of large lists starve the writer of the cache",
		"indexer.TestIndexerIsConsistentForConcurrentReaders indexer.TestReadersSeeWholeTransactionsInTheirOrder", "readers take no lock; make bench measures the pauses"},
	{47, "An index function that fails ends the process, or leaves an object half indexed",
		"informer.TestAnIndexThatFailsForOneObjectLeavesItStoredAndReported", ""},
	{48, "An index value that still holds is lost by an update",
		"indexer.TestIndexerAgreesWithTheModel", ""},
	{49, "Index values that nothing has any more are kept",
		"indexer.TestStatsCountWhatIsThere indexer.TestALargeTransactionLeavesNoMemoryBehind", ""},
	{51, "An index cannot be added once the informer runs",
		"informer.TestIndexesCanBeAddedWhileItRuns", ""},
	{52, "A cache of own writes hides an object between two lookups",
		"informer.TestAVersionIsReachedWhenTheStoreHasIt", "there is no such cache: who has written waits for the version, and every query answers from one state"},
	{55, "The changes that a slow handler has to be told grow until the process is killed",
		"informer.TestASlowHandlerCostsAtMostOnePendingChangePerKey informer.TestListenersAgainstAnUnboundedListWithoutRace informer.TestAMillionChangesPassABlockedHandlerWithoutRace", ""},
	{56, "Each idle handler costs a buffer of a thousand slots",
		"informer.TestOnlyHandlersAtWorkHaveAGoroutine", "an idle handler has no buffer and no goroutine: all read one log, which is empty then; make bench measures it"},
	{57, "A handler cannot be removed, and its goroutines stay",
		"informer.TestARemovedHandlerIsToldNoMore informer.TestAHandlerRemovedBeforeTheRunIsDone", "no goroutine is left behind any test of the package"},
	{58, "Registrations that are thrown away keep their handlers for ever",
		"informer.TestALoopThatPanicsLeavesNothingBehind", "a loop over Changes ends with its context; a handler that was registered ends with Remove, and costs nothing but its place while it is idle"},
	{60, "A transform cannot be set when somebody else has started the informer",
		"informer.TestForRefusesToShareWithAnotherTransformOrShape", ""},
	{61, "The transform of a factory replaces that of one informer",
		"", "a factory has none"},
	{62, "Everything counts as synced before the handlers have run",
		"informer.TestWaitCoversTheHandlers", ""},
	{67, "A drain ends while keys are queued, and a stray Done queues a key twice",
		"workqueue.TestDrainWaitsForEverything workqueue.TestAStrayDoneChangesNothing", ""},
	{68, "A drain and a shutdown wait for each other",
		"workqueue.TestADrainAndACloseAtOnceBothReturn workqueue.TestCloseEndsADrain", ""},
	{69, "A queue that is shut down under load hangs",
		"workqueue.TestNothingHangsOrIsLost", ""},
	{71, "The first failures of many keys wait for a quarter of an hour",
		"workqueue.TestThePaceCountsWhenKeysAreHandedOut workqueue.TestAFailedKeyIsRetriedWithBackoff", ""},
	{73, "Failures are counted for ever where nobody forgets them",
		"workqueue.TestMemoryFollowsTheNumberOfKeys workqueue.TestAFailedKeyIsRetriedWithBackoff", ""},
	{74, "Two queues share what they count of failures",
		"workqueue.TestAFailedKeyIsRetriedWithBackoff", "the queue itself counts, and there is nothing to share"},
	{75, "One tenant with many keys delays all others",
		"workqueue.TestTenantsTakeTurns workqueue.TestTenantsWithoutEndCostNothing", ""},
	{76, "A key of high priority comes after others, or loses its priority",
		"workqueue.TestHigherPrioritiesComeFirst workqueue.TestAKeyKeepsItsPriority workqueue.TestAWaitingKeyAges", ""},
	{78, "The depth of a queue is told as less than zero",
		"workqueue.TestTheDepthIsTheNumberOfKeys workqueue.TestModel", ""},
	{79, "Two queues of one name panic, or one of them is not measured",
		"workqueue.TestQueuesOfOneNameDoNotMeet", "nothing is registered under a name: each queue has its own Stats"},
}

func TestEveryFieldReportIsAnswered(t *testing.T) {
	var answered []int
	for _, r := range reported {
		answered = append(answered, r.number)
	}
	tests := map[string][]string{}
	for _, r := range elsewhere {
		if slices.Contains(answered, r.number) {
			t.Errorf("report %d is answered twice", r.number)
		}
		answered = append(answered, r.number)
		if r.tests == "" && r.reason == "" {
			t.Errorf("report %d has neither a test nor a reason", r.number)
		}
		for _, name := range strings.Fields(r.tests) {
			folder, test, _ := strings.Cut(name, ".")
			if _, ok := tests[folder]; !ok {
				tests[folder] = testsOf(t, folder)
			}
			if !slices.Contains(tests[folder], test) {
				t.Errorf("report %d: there is no %s", r.number, name)
			}
		}
	}
	slices.Sort(answered)
	if answered = slices.Compact(answered); !slices.Equal(answered, fieldReports) {
		t.Errorf("reports %v are answered, there are %v", answered, fieldReports)
	}
}

// testsOf returns the names of the tests of a package beside this one.
func testsOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
