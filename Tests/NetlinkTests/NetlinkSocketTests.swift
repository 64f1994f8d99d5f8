import AgentModel
import CNetlink
import Glibc
import Linux
import Testing

@testable import Netlink

/// The socket, on this machine's own kernel.
@Suite(.timeLimit(.minutes(10))) @AgentLoop struct NetlinkSocketTests {
    private let controllerDump = NetlinkRequest(family: UInt16(GENL_ID_CTRL), command: UInt8(CTRL_CMD_GETFAMILY))
    /// A request that the kernel neither does nor answers, because it is a control message.
    private let ignored = NetlinkRequest(type: UInt16(NLMSG_NOOP), fixedPart: [])

    @Test func findsAFamily() async throws {
        let socket = try NetlinkSocket(.generic)
        let family = try await socket.family(named: "nlctrl")
        #expect(family.id == GENL_ID_CTRL)
        #expect(family.groups["notify"] != nil)
        try socket.join(group: "notify", of: family)
        #expect { try socket.join(group: "gossip", of: family) } throws: { error in
            (error as? NetlinkError)?.reason == .groupMissing("gossip")
        }
    }

    @Test func saysThatAFamilyIsMissing() async throws {
        let socket = try NetlinkSocket(.generic)
        await #expect { _ = try await socket.family(named: "no-such") } throws: { error in
            (error as? NetlinkError)?.reason == .familyMissing("no-such")
        }
    }

    @Test(.disabled(if: access("/sys/module/cfg80211", F_OK) == 0, "this kernel has nl80211"))
    func saysThatNL80211IsMissing() async throws {
        let radio = try await WirelessRadio(interface: "lo") { _ in }
        #expect(!radio.isSupported)
        #expect(radio.interfaceIndex == nil, "whatever has the name is no Wi-Fi interface")
        await #expect { try await radio.phy() } throws: { error in
            (error as? NetlinkError)?.reason == .familyMissing("nl80211") && "\(error)".contains("cfg80211")
        }
        await #expect(throws: NetlinkError.self) { try await radio.regulatoryDomain() }
        await #expect(throws: NetlinkError.self) { try await radio.interfaces() }
    }

    /// The third look finds it; the family is the controller's, with nl80211's groups in the place of its own.
    @Test func looksForNL80211UntilItIsThere() async throws {
        var looks = 0
        let missing = NetlinkError(attempted: "look", reason: .familyMissing("nl80211"))
        let (events, teller) = AsyncStream.makeStream(of: RadioEvent.self)
        let radio = try await WirelessRadio(
            interface: "lo", socket: NetlinkSocket(.generic), pause: .milliseconds(1),
            lookUp: { (_) throws(NetlinkError) in
                looks += 1
                guard looks == 3 else { throw missing }
                return Self.stand
            }
        ) { teller.yield($0) }
        #expect(!radio.isSupported && looks == 1)
        var seen: [RadioEvent] = []
        for await event in events {
            seen.append(event)
            if event == .supported { break }
        }
        #expect(seen == [.interfaceAdded, .supported])
        #expect(radio.isSupported && radio.interfaceIndex != nil)
        radio.look()
        #expect(looks == 3, "what is there is not looked for")
    }

    /// Told that an interface has come, it does not wait for its time.
    @Test func looksAtOnceWhenToldTo() async throws {
        var looks = 0
        let missing = NetlinkError(attempted: "look", reason: .familyMissing("nl80211"))
        let (events, teller) = AsyncStream.makeStream(of: RadioEvent.self)
        let radio = try await WirelessRadio(
            interface: "no-such", socket: NetlinkSocket(.generic), pause: .seconds(3600),
            lookUp: { (_) throws(NetlinkError) in
                looks += 1
                guard looks == 2 else { throw missing }
                return Self.stand
            }
        ) { teller.yield($0) }
        radio.look()
        for await event in events {
            #expect(event == .supported)
            break
        }
        #expect(radio.isSupported && radio.interfaceIndex == nil)
    }

    /// As nl80211 could be: a family with its groups, whose number is that of the controller's own.
    private static let stand = GenericNetlinkFamily(
        id: UInt16(GENL_ID_CTRL),
        groups: Dictionary(
            uniqueKeysWithValues: ["config", "scan", "regulatory", "mlme"].map { ($0, Int(GENL_ID_CTRL)) }))

    @Test func answersManyDumpsAtOnce() async throws {
        let socket = try NetlinkSocket(.generic)
        func names() async throws -> [String] {
            try await socket.dump(controllerDump, attempting: "list the families") { message in
                message.attributes(after: GenericNetlinkFamily.headerLength)[CTRL_ATTR_FAMILY_NAME]?.string
            }
        }
        async let first = names()
        async let second = names()
        async let third = names()
        let all = try await [first, second, third]
        #expect(all.allSatisfy { $0.contains("nlctrl") && $0 == all[0] })
    }

    @Test func givesUpWhatIsNotAnswered() async throws {
        let socket = try NetlinkSocket(.generic)
        let ending = await withCheckedContinuation { continuation in
            socket.send(ignored, expecting: .dump, attempting: "be ignored", within: .milliseconds(1)) { ending in
                continuation.resume(returning: "\(ending)")
            }
        }
        #expect(ending.contains("no answer"))
        // Its place is free again.
        #expect(try await socket.family(named: "nlctrl").id == GENL_ID_CTRL)
        #expect(try await !socket.dump(controllerDump, attempting: "list the families") { $0.type }.isEmpty)
    }

    @Test func dropsLateAnswers() async throws {
        let socket = try NetlinkSocket(.generic)
        socket.onNotification = { _ in Issue.record("a late answer passed for news") }
        var ended = 0
        for _ in 0..<50 {
            socket.send(
                GenericNetlinkFamily.request(named: "nlctrl"), expecting: .reply, attempting: "be late", within: .zero
            ) { _ in ended += 1 }
        }
        #expect(try await socket.family(named: "nlctrl").id == GENL_ID_CTRL)
        #expect(ended == 50)
    }

    @Test func takesOnlySoManyRequests() async throws {
        let socket = try NetlinkSocket(.generic)
        var refused = 0
        for _ in 0..<100 {
            socket.send(ignored, expecting: .dump, attempting: "crowd", within: .seconds(60)) { ending in
                if case .failed(let error) = ending, error.reason == .exceeds(limit: 64, of: "requests") {
                    refused += 1
                }
            }
        }
        #expect(refused == 36)
    }

    @Test func endsItsRequestsWhenLetGo() async throws {
        var socket: NetlinkSocket? = try NetlinkSocket(.generic)
        var endings: [String] = []
        socket?.send(ignored, expecting: .dump, attempting: "outlive", within: .seconds(60)) { endings.append("\($0)") }
        socket?.send(ignored, expecting: .dump, attempting: "wait", within: .seconds(60)) { endings.append("\($0)") }
        #expect(endings.isEmpty)
        socket = nil
        #expect(endings.count == 2)
    }
}
