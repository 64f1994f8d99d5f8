import AgentModel
import Testing

@testable import Dongle

/// Whether an access point that has said goodbye without protection still knows the keys.
@Suite struct AssociationQueryTests {
    private static let accessPoint = BSSID(bytes: [2, 0, 0, 0, 1, 0])!
    private static let station = BSSID(bytes: [2, 0, 0, 0, 0, 1])!

    private static func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// A management frame with this body.
    private static func frame(from sender: BSSID, _ body: [UInt8]) -> ArraySlice<UInt8> {
        ([0xd0, 0, 0, 0] + station.bytes + sender.bytes + sender.bytes + [0, 0] + body)[...]
    }

    @Test func itAsksFiveTimesAndIsLostAfterASecond() {
        var query = AssociationQuery(to: Self.accessPoint, at: Self.at(0))
        var asked: [Int64] = []
        while asked.count < 100 {
            let now = query.nextWake
            guard case .ask(let number) = query.tick(at: now) else {
                #expect(now == Self.at(1024))
                break
            }
            #expect(number == UInt16(asked.count + 1))
            #expect(query.tick(at: now) == nil, "not twice at once")
            asked.append(now.milliseconds)
        }
        #expect(asked == [0, 206, 412, 618, 824])
    }

    @Test func onlyTheAnswerToAQuestionOfItsOwnCounts() {
        var query = AssociationQuery(to: Self.accessPoint, at: Self.at(0))
        let answer = Self.frame(from: Self.accessPoint, [8, 1, 1, 0])
        #expect(!query.isAnswered(by: answer), "nothing was asked")
        #expect(query.tick(at: Self.at(0)) == .ask(1))
        #expect(query.isAnswered(by: answer))
        #expect(!query.isAnswered(by: Self.frame(from: Self.accessPoint, [8, 1, 2, 0])))
        #expect(!query.isAnswered(by: Self.frame(from: Self.accessPoint, [8, 0, 1, 0])), "a question")
        #expect(!query.isAnswered(by: Self.frame(from: Self.station, [8, 1, 1, 0])))
        for length in answer.indices { #expect(!query.isAnswered(by: answer.prefix(length))) }
    }

    @Test func theQuestionIsAnActionFrameToTheAccessPoint() {
        let frame = AssociationQuery.frame(0x0102, from: Self.station, to: Self.accessPoint)
        #expect(frame.count == 28 && frame.prefix(2) == [0xd0, 0])
        #expect(frame[4..<10].elementsEqual(Self.accessPoint.bytes) && frame[10..<16].elementsEqual(Self.station.bytes))
        #expect(frame.suffix(4) == [8, 0, 2, 1])
    }

    @Test func aGoodbyeToAStrangerIsTheReasonAndNoOther() {
        for reason in [1, 2, 3, 6, 7, 8] as [UInt8] {
            let isOfAStranger = AssociationQuery.isOfAStranger(Self.frame(from: Self.accessPoint, [reason, 0]))
            #expect(isOfAStranger == (reason == 6 || reason == 7))
        }
        #expect(!AssociationQuery.isOfAStranger([]))
    }
}
