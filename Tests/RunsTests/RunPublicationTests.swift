import Basics
import Ledger
import Testing

@testable import Runs

struct RunPublicationTests {
    private func run(_ state: Run.State) -> Run {
        let session = SessionKey(canonical: "agent:main:main")
        return Run(id: "k", session: session, state: state, startedAt: Timestamp(milliseconds: 0))
    }

    @Test func `the start is published once, and so is the end`() {
        var publication = RunPublication()
        #expect(publication.next(.queued, over: nil) == .nothing)
        #expect(!publication.isStartPublished)
        #expect(publication.next(.running, over: nil) == .differences(isStart: true, isEnd: false))
        #expect(publication.next(.running, over: nil) == .differences(isStart: false, isEnd: false))
        #expect(publication.next(.completed, over: nil) == .differences(isStart: false, isEnd: true))
        #expect(publication.isClosed)
        #expect(publication.next(.completed, over: nil) == .nothing)
    }

    @Test func `a run that ends before it was seen has a start all the same`() {
        var publication = RunPublication()
        #expect(publication.next(.aborted, over: nil) == .differences(isStart: true, isEnd: true))
    }

    @Test func `a run that waits again after its start is still shown`() {
        var publication = RunPublication()
        publication.follow(run(.running))
        #expect(publication.next(.queued, over: nil) == .differences(isStart: false, isEnd: false))
    }

    @Test func `another state, or another reason of a failure, corrects the end`() {
        var publication = RunPublication()
        publication.follow(run(.failed), over: .processGone)
        #expect(publication.next(.failed, over: .processGone) == .nothing)
        #expect(publication.next(.running, over: nil) == .nothing)
        #expect(publication.next(.failed, over: .continued(as: "b")) == .correction)
        #expect(publication.next(.completed, over: .continued(as: "b")) == .correction)
        #expect(publication.next(.completed, over: .reported(nil)) == .nothing)
    }

    @Test func `a stopped run with which the gateway goes on is corrected to name the other`() {
        var publication = RunPublication()
        publication.follow(run(.aborted))
        #expect(publication.next(.aborted, over: nil) == .nothing)
        #expect(publication.next(.aborted, over: .continued(as: "b")) == .correction)
        #expect(publication.next(.aborted, over: .continued(as: "b")) == .nothing)
    }

    @Test func `news are taken once`() {
        var publication = RunPublication()
        #expect(publication.takeNews() == false)
        publication.published()
        #expect(publication.takeNews() == true)
        #expect(publication.takeNews() == false)
    }
}
