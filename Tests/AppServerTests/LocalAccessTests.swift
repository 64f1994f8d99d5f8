import AppProtocol
import Foundation
import PipedPrograms
import Testing

@testable import AppServer

/// Permissions on the Unix socket.
@Suite struct LocalAccessTests {
    @Test(
        arguments: [
            // uid, groups, what it may do with group 40, readers 50
            (0, [], .manage), (7, [], .manage), (8, [40], .manage), (8, [9, 40], .manage), (8, [50], .see),
            (8, [9, 50], .see), (8, [40, 50], .manage), (8, [9], nil), (8, [0], nil), (8, [], nil),
        ] as [(UInt32, [UInt32], Role?)])
    func byUserAndGroups(uid: UInt32, groups: [UInt32], access: Role?) {
        let rule = LocalAccess(ownUser: 7, group: 40, readers: 50, relays: nil)
        // The first one is the process's own group.
        let process = ProcessCredentials(pid: 1, uid: uid, gid: groups.first ?? 8, groups: Set(groups.dropFirst()))
        #expect(rule.role(of: process) == access)
        let withoutReaders = LocalAccess(ownUser: 7, group: 40, readers: nil, relays: nil)
        #expect(withoutReaders.role(of: process) == (access == .manage ? .manage : nil))
    }

    /// A bridge that is taken over has the groups that open the socket file as well.
    @Test(arguments: [(0, [60], false), (7, [60], false), (8, [60], true), (8, [40, 60], true), (8, [40], false)])
    func aRelayIsOneWhateverElseItIs(uid: UInt32, groups: [UInt32], isRelay: Bool) {
        let rule = LocalAccess(
            ownUser: 7, group: 40, readers: nil, relays: RelayAccess(group: 60, role: .switch))
        let process = ProcessCredentials(pid: 1, uid: uid, gid: 8, groups: Set(groups))
        #expect(rule.isRelay(process) == isRelay && rule.role(of: process) == (isRelay ? .switch : .manage))
    }

    @Test func theKernelTellsWhoConnected() throws {
        var pair: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        var groups = [gid_t](repeating: 0, count: 65_536)
        groups = Array(groups.prefix(Int(getgroups(65_536, &groups))))
        let expected = ProcessCredentials(pid: getpid(), uid: getuid(), gid: getgid(), groups: Set(groups))
        #expect(ProcessCredentials(peerOf: pair[0]) == expected)
        #expect(ProcessCredentials(peerOf: -1) == nil)
    }

    @Test func commandsAreTheTypesThatChangeSomething() {
        #expect(
            MessageType.allCases.filter(\.isCommand) == [
                .updateBackups, .stagePassword, .dropPassword, .switchNetwork, .confirmSwitch, .startScan,
                .answerPortal,
                .updateTargets, .setProvider, .setName, .addKey, .revokeKey, .claimKey, .openRescue, .closeRescue,
            ])
        #expect(MessageType.allCases.filter { $0.role == .see && $0.isCommand } == [.claimKey])
    }
}

/// Processes of other users, which only root can start.
@Suite(.enabled(if: getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0 && access("/usr/bin/perl", X_OK) == 0))
struct OtherUsersTests {
    private static let (group, readers, relays): (UInt32, UInt32, UInt32) = (54_321, 54_322, 54_323)

    @Test func membersOfTheGroupMayDoEverything() async throws {
        let notices = Notices()
        for groups in ["\(Self.group)", "1,\(Self.group)"] {
            let codes = try await answers(to: [.getNetwork, .switchNetwork], of: groups, notices)
            #expect(codes == [nil, nil])
        }
        guard case .opened(let peer)? = notices.all.first, case .process(_, 65_534, 65_534) = peer.origin else {
            Issue.record("told of \(notices.all)")
            return
        }
    }

    /// More groups than the first guess has room for.
    @Test func oneOfManyGroups() async throws {
        let many = (60_000..<60_100).map(String.init).joined(separator: ",")
        #expect(try await answers(to: [.switchNetwork], of: "\(many),\(Self.group)") == [nil])
    }

    @Test func readersMayAskAndListen() async throws {
        let asked: [MessageType] = [
            .getNetwork, .switchNetwork, .startScan, .subscribe, .confirmSwitch, .getScan, .getDiagnosis,
        ]
        let device = FakeDevice()
        let codes = try await answers(to: asked, of: "\(Self.readers)", Notices(), device)
        #expect(codes == [nil, .notPermitted, .notPermitted, nil, .notPermitted, nil, nil])
        #expect(device.bodies == [.getNetwork, .getScan, .getDiagnosis])
        #expect(device.peers.map(\.role) == [.see, .see, .see])
    }

    /// Without a mark on its requests.
    @Test func aRelayMovesTheDeviceToStoredNetworksOnly() async throws {
        let device = FakeDevice()
        let asked: [MessageType] = [.getNetwork, .switchNetwork, .startScan, .getKeys]
        let codes = try await answers(to: asked, of: "\(Self.group),\(Self.relays)", Notices(), device)
        #expect(codes == [nil, .sealRequired, nil, .notPermitted])
        #expect(device.peers.allSatisfy { $0.isRelay && $0.role == .switch })
    }

    @Test func othersAreToldAndClosed() async throws {
        let notices = Notices()
        let device = FakeDevice()
        #expect(try await answers(to: [.getNetwork], of: "1", notices, device) == [.notPermitted])
        #expect(device.bodies == [])
        guard case .refused(_, .notPermitted)? = notices.all.first else {
            Issue.record("told of \(notices.all)")
            return
        }
    }

    @Test func theFileBelongsToTheGroup() async throws {
        let folder = try SocketFolder()
        for (readers, mode) in [(nil, 0o660), (Self.readers, 0o666)] as [(UInt32?, Int)] {
            let unix = UnixListenerSettings(path: folder.socket, group: Self.group, readers: readers)
            let server = AppServer(unix: unix, service: FakeDevice(), hub: EventHub())
            try await server.start()
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.socket)
            #expect((attributes[.groupOwnerAccountID] as? NSNumber)?.uint32Value == Self.group)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
            await server.stop()
        }
    }

    /// The answer to a process of user 65534 with these supplementary groups.
    private func answers(
        to types: [MessageType], of groups: String, _ notices: Notices = Notices(), _ device: FakeDevice = FakeDevice()
    ) async throws -> [ErrorCode?] {
        let folder = try SocketFolder()
        chmod(folder.path, 0o755)
        let unix = UnixListenerSettings(
            path: folder.socket, group: Self.group, readers: Self.readers,
            relays: RelayAccess(group: Self.relays, role: .switch))
        let server = AppServer(unix: unix, service: device, hub: EventHub(), notify: notices.append)
        try await server.start()
        let bodies: [MessageType: String] = [
            .switchNetwork: #"{"ssid":"Home","password":"12345678"}"#, .confirmSwitch: #"{"switchId":"s-1"}"#,
        ]
        let input = types.map { request($0, body: bodies[$0] ?? "{}") }.joined()
        let output = try await Self.run(folder.socket, groups, input)
        await server.stop()
        return try output.split(separator: "\n").map { try answer(String($0)).code }
    }

    private static func run(_ path: String, _ groups: String, _ input: String) async throws -> String {
        // As a file: `perl -e` reads /dev/null, which not every container lets other users do.
        let script = path + ".pl"
        let text = """
            use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
            print $s $ARGV[1]; $s->flush; shutdown($s, 1); print while <$s>;
            """
        try text.write(toFile: script, atomically: false, encoding: .utf8)
        chmod(script, 0o644)
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--groups", groups]
                continuation.resume(
                    with: Result {
                        let run = try PipedProgram.run(
                            "timeout", ["60"] + user + ["perl", script, path, input])
                        return String(decoding: run.output, as: UTF8.self)
                    })
            }
        }
    }
}
