import AgentModel
import AppProtocol
import Lab
import Testing

extension Radios {
    /// The network is good, and the device's own server is not.
    @Suite struct BrokerTests {
        @Test func aBrokerThatRefusesIsNoReasonToLeave() async throws {
            try await scenario("broker refuses", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                await upstream.broker.kill()
                try await house.device.broker(.failed, because: .connectionRefused, within: .seconds(20))
                try await house.expectInternet()
                try await house.expectDiagnosis(of: [.target])
                let status = try await house.device.commandLine(["status"])
                #expect(status.contains("connection refused"), "\(status)")
                try await upstream.broker.start()
                try await house.device.broker(.ready, within: .seconds(60))

                try await upstream.broker.firewall(.reject)
                try await house.device.broker(.failed, because: .connectionRefused, within: .seconds(20))
                try await upstream.broker.firewall(nil)
                try await house.device.broker(.ready, within: .seconds(60))
                house.expectWay([], since: mark)
                try await house.expectBroker(through: house.home, within: .seconds(5))
            }
        }

        @Test func aBrokerThatIsSilentIsNoticed() async throws {
            try await scenario("broker silent", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                try await upstream.broker.firewall(.drop)
                try await house.device.connectivity(within: .seconds(20), "the broker's silence to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                try await upstream.broker.firewall(nil)
                try await house.device.broker(.ready, within: .seconds(60))

                // Its kernel goes on to acknowledge; only MQTT's own keep-alive shows that nobody is there.
                await upstream.broker.freeze()
                try await house.device.connectivity(within: .seconds(50), "the frozen broker to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                await upstream.broker.thaw()
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }

        /// The server of the app speaks TLS, and the device trusts nobody but its authority.
        @Test func aServerBehindTLSHangsAndIsCutOff() async throws {
            try await scenario("TLS server", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let (server, authority) = try await upstream.appServer()
                let house = try await House(
                    lab, upstream: upstream,
                    settings: [
                        "ALTNET_TARGETS": "app=https://\(Upstream.appName):443", "ALTNET_AUTHORITIES": authority,
                    ])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark

                await server.freeze()
                try await house.device.connectivity(within: .seconds(50), "the frozen server to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                await server.thaw()
                try await house.device.broker(.ready, within: .seconds(60))

                try await server.firewall(.drop)
                try await house.device.connectivity(within: .seconds(20), "the server's silence to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .timedOut }
                }
                try await house.expectInternet()
                try await server.firewall(.reject)
                try await house.device.connectivity(within: .seconds(40), "the server's refusal to be noticed") {
                    $0.targets.allSatisfy { !$0.isOnline && $0.reason == .connectionRefused }
                }
                try await server.firewall(nil)
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }
    }
}
