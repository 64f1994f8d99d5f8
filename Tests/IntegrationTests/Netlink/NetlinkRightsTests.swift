import CNetlink
import Glibc
import Linux
import NetworkNamespaces
import Testing

@testable import Netlink

/// Requests that the kernel allows root only.
@Suite(.enabled(if: geteuid() == 0, "needs root"), .timeLimit(.minutes(10))) @AgentLoop struct NetlinkRightsTests {
    @Test
    func passesOnTheKernelsOwnWords() async throws {
        let socket = try NetlinkSocket(.route)
        // struct rtmsg: to a network of 24 bits, which the address below is not, in the main table, unicast.
        var request = NetlinkRequest(type: UInt16(RTM_NEWROUTE), fixedPart: [2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0])
        request.attributes.put(Int(RTA_DST.rawValue), bytes: [192, 0, 2, 2])
        await #expect { try await socket.perform(request, attempting: "add a route") } throws: { error in
            (error as? NetlinkError)?.reason
                == .refused(errno: EINVAL, detail: "Invalid prefix for given prefix length")
        }
    }

    @Test
    func saysThatTheRightIsMissing() async throws {
        var ending = ""
        let socket: NetlinkSocket = try withoutRights {
            let socket = try NetlinkSocket(.route)
            socket.send(
                .setLink(index: 1, up: true), expecting: .acknowledged, attempting: "set lo up", within: .seconds(5)
            ) { ending = "\($0)" }
            return socket
        }
        // Answers come in order, so the refusal is there when this is.
        _ = try await socket.dump(.dump(of: .links), attempting: "list the links") { $0.type }
        #expect(ending.contains("CAP_NET_ADMIN"))
    }

    /// Does something without root's rights, on this thread alone.
    private func withoutRights<Value>(_ body: () throws -> Value) rethrows -> Value {
        precondition(setThreadUser(65534))
        defer { precondition(setThreadUser(0)) }
        return try body()
    }

    @Test
    func hearsTheKernelOnly() async throws {
        let socket = try NetlinkSocket(.route)
        socket.onNotification = { _ in Issue.record("took a forgery for news") }
        let forgery = NetlinkRequest.setLink(index: 1, up: false).encoded(flags: 0, sequence: 0, port: 0)
        let other = Glibc.socket(AF_NETLINK, Int32(SOCK_RAW.rawValue), NETLINK_ROUTE)
        defer { close(other) }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_pid = socket.port
        let sent = withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(other, forgery, forgery.count, 0, address, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        #expect(sent == forgery.count)
        #expect(try await !socket.dump(.dump(of: .links), attempting: "list the links") { $0.type }.isEmpty)
    }
}
