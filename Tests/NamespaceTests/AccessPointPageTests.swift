import AgentModel
import AppProtocol
import AppServer
import DHCP
import DevicePage
import TestTime
import Testing

/// The page and the name server of an access point, as a phone in its network finds them.
@Suite(.enabled(if: TestNetwork.isPossible, "needs root, and network namespaces")) struct AccessPointPageTests {
    @Test func aPhoneFindsThePageByTheAddressOfTheAccessPointAlone() async throws {
        let network = try TestNetwork()
        let requests = Observed(0)
        let device = DevicePage(NoDevice(), deviceId: "bench-01", keys: OwnerKey(Secret(text: "0123456789abcdef")))
        let page = AccessPointPage(device, on: network.routerGroup.next()) {
            requests.change { $0 += 1 }
        }
        let address = try #require(IPv4Address("10.9.0.1"))
        // Again, and again: the ports are free at once.
        for _ in 0..<3 {
            // A socket is of the namespace of the thread that makes it.
            let executor = EventLoopTasks(network.routerGroup.next())
            try await Task(executorPreference: executor) { try await page.open(on: "ap0", address: address) }.value
            try network.onDevice("python3 -c '\(Self.phone)' 10.9.0.1")
            // Not by another address of the device.
            #expect(throws: (any Error).self) { try network.onDevice("python3 -c '\(Self.phone)' 10.8.0.1") }
            await page.close()
            #expect(throws: (any Error).self) { try network.onDevice("python3 -c '\(Self.phone)' 10.9.0.1") }
        }
        // What the system asks is no person.
        #expect(requests.value == 0)
    }

    /// Asks for a name, and for a page at the address that it gets.
    private static let phone = """
        import socket, sys
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(1)
        s.sendto(b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x05apple\\x03com\\0\\0\\x01\\0\\x01", (sys.argv[1], 53))
        answer = s.recv(512)
        assert answer[:2] == b"\\x12\\x34" and answer[-4:] == socket.inet_aton(sys.argv[1])
        c = socket.create_connection((socket.inet_ntoa(answer[-4:]), 80), 1)
        c.sendall(b"GET /hotspot-detect.html HTTP/1.1\\r\\nHost: captive.apple.com\\r\\n\\r\\n")
        page = c.makefile("rb").read()
        assert page.startswith(b"HTTP/1.1 302") and b"http://10.9.0.1/" in page
        """
}

private struct NoDevice: DeviceService {
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        throw ProtocolError(.unsupported, "there is no device")
    }
}
