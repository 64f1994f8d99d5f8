import AgentModel
import AppProtocol
import FoundationEssentials
import Glibc
import Lab
import Synchronization
import Testing

extension Radios {
    /// A real captive portal, and programs that sign in there.
    @Suite struct PortalTests {
        /// Programs that sign in, run by a host as the user `nobody`.
        private struct Providers {
            let socket: String
            private let started: String

            /// - Parameter scripts: shell scripts by their names; `altnet` is on their path.
            init(_ scripts: [String: String], in lab: Lab) async throws {
                let (programs, directory) = ("\(lab.directory)/programs", "\(lab.directory)/providers")
                socket = "\(lab.directory)/providers.sock"
                started = "\(lab.directory)/started"
                for folder in [programs, directory, started] {
                    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                }
                // Programs that are not root get there, and leave word of it.
                try #require(chmod(lab.directory, 0o711) == 0 && chmod(started, 0o777) == 0)
                let altnet = "\(programs)/altnet"
                try FileManager.default.copyItem(atPath: Device.binary, toPath: altnet)
                for (name, script) in scripts {
                    let path = "\(directory)/\(name)"
                    let lines = ["#!/bin/sh", ": >'\(started)/\(name)'", "PATH=\(programs):$PATH", script]
                    try lines.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
                    try #require(chmod(path, 0o755) == 0)
                }
                _ = try await lab.start(
                    altnet, ["providers", "--directory", directory, "--listen", socket, "--user", "nobody"],
                    log: "providers")
                let socket = socket
                try await eventually(within: .seconds(10), "the providers' host to listen") {
                    access(socket, F_OK) == 0
                }
            }

            /// Those that were started at least once.
            func expectStarted(_ names: [String], sourceLocation: SourceLocation = #_sourceLocation) {
                for name in names {
                    #expect(access("\(started)/\(name)", F_OK) == 0, "\(name)", sourceLocation: sourceLocation)
                }
            }
        }

        private static let clickThrough = "exec altnet provider click-through"

        // covers: seed/provider-states, seed/provider-maintain
        @Test(.extended) func aProviderSignsInAndStaysSignedIn() async throws {
            try await scenario("provider signs in", accessPoints: 2) { lab in
                let (requests, answers) = ("\(lab.directory)/started/requests", "\(lab.directory)/started/answers")
                let script = "tee -a '\(requests)' | altnet provider click-through | tee -a '\(answers)'"
                let providers = try await Providers(["click-through": script], in: lab)
                let house = try await House(
                    lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": providers.socket])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal()
                try await house.device.connectivity(within: .seconds(60), "the provider to have signed in") {
                    $0.portal?.state == .maintaining && $0.portal?.provider == "click-through"
                }
                try await house.device.broker(.ready, within: .seconds(30))
                try await house.expectInternet()

                // After 300 s the provider looks whether it is still signed in.
                try await eventually(within: .seconds(330), "an answer to a request to maintain the session") {
                    let asked = try String(contentsOfFile: requests, encoding: .utf8)
                    let answered = try String(contentsOfFile: answers, encoding: .utf8)
                    return asked.contains(#""type":"maintain""#)
                        && answered.count { $0 == "\n" } == asked.count { $0 == "\n" }
                }
                try await house.device.connectivity(within: .seconds(5), "it to be maintained") {
                    $0.portal?.state == .maintaining
                }
                try await house.expectInternet(level: .target)

                try await house.home.signEverybodyOut()
                try await house.device.connectivity(within: .seconds(35), "the end of the session to be noticed") {
                    $0.internet != .yes || $0.level != .target
                }
                try await house.expectBroker(through: house.home, within: .seconds(60))
                house.expectWay([], since: mark)
            }
        }

        /// A provider that knows one network only, and signs in there as click-through does.
        private static func provider(of network: AccessPoint) -> String {
            """
            read -r _; echo '{"v":1,"id":"1","ok":true}'
            read -r question
            case $question in
                *'"ssid":"\(network.ssid)"'*) ;;
                *) echo '{"v":1,"id":"2","ok":true,"body":{"confidence":"none"}}'; exit;;
            esac
            { printf '%s\\n' "$question"; cat; } | altnet provider click-through
            """
        }

        /// The device signs in to its network, keeps that over a restart, signs in to the other one when it moves, and
        /// goes on in the first one when it is back.
        // covers: seed/provider-evaluate, seed/provider-states, seed/session-kept
        @Test(.extended) func twoPortalsHaveTwoProviders() async throws {
            try await scenario("two portals, two providers", accessPoints: 2) { lab in
                let socket = "\(lab.directory)/providers.sock"
                let house = try await House(lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": socket])
                let scripts = ["a": Self.provider(of: house.home), "b": Self.provider(of: house.backup)]
                let providers = try await Providers(scripts, in: lab)
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                for network in [house.home, house.backup] { try await network.captivePortal() }
                func isSignedIn(by provider: String, through network: AccessPoint) async throws {
                    try await house.device.connectivity(within: .seconds(60), "\(provider) to maintain") {
                        $0.internet == .yes && $0.portal?.state == .maintaining && $0.portal?.provider == provider
                    }
                    try await house.expectBroker(through: network, within: .seconds(30))
                }
                try await isSignedIn(by: "a", through: house.home)
                house.expectWay([], since: mark)

                await house.device.kill()
                try await house.device.start()
                try await isSignedIn(by: "a", through: house.home)

                try await house.home.powerOff()
                try await isSignedIn(by: "b", through: house.backup)

                try await house.home.powerOn()
                try await house.backup.powerOff()
                try await isSignedIn(by: "a", through: house.home)
                providers.expectStarted(["a", "b"])
            }
        }

        // covers: seed/provider-unclaimed, seed/provider-evaluate
        @Test(.extended) func aNetworkThatNoProviderClaimsIsUsed() async throws {
            try await scenario("network without a provider") { lab in
                let stranger = """
                    read -r _; echo '{"v":1,"id":"1","ok":true}'
                    read -r _; echo '{"v":1,"id":"2","ok":true,"body":{"confidence":"none"}}'
                    """
                let providers = try await Providers(["stranger": stranger], in: lab)
                let home = try await House.openHome(in: lab)
                try await home.powerOn()
                let device = try await Device.atHome(
                    home, in: lab, settings: House.servers.merging(["ALTNET_PROVIDERS": providers.socket]) { $1 })
                try await device.connectivity(within: .seconds(30), "no provider to claim the network") {
                    $0.internet == .yes && $0.portal?.state == .authenticated && $0.portal?.provider == nil
                }
                try await device.broker(.ready, within: .seconds(15))
                providers.expectStarted(["stranger"])
            }
        }

        /// A provider that knows captive networks, and sends the user to a page.
        private static func provider(showing page: String) -> String {
            """
            while read -r question; do
                id=${question#*'"id":"'}; id=${id%%'"'*}; body='{"result":"success"}'
                case $question in *'"portal":"'*) sure=high;; *) sure=none;; esac
                case $question in
                    *'"type":"hello"'*) body='{}';;
                    *'"type":"filterScanList"'*) body='{"bssids":[]}';;
                    *'"type":"evaluate"'*) body='{"confidence":"'$sure'"}';;
                    *'"type":"authenticate"'*) body='{"result":"uiRequired"}';;
                    *'"type":"presentUI"'*) body='{"title":"Guest access","message":"","url":"\(page)"}';;
                esac
                printf '{"v":1,"id":"%s","ok":true,"body":%s}\\n' "$id" "$body"
            done
            """
        }

        /// The provider has only the address of a page, on which the user signs in with a browser.
        // covers: seed/provider-ui
        @Test(.extended) func aPersonFinishesOnAPage() async throws {
            try await scenario("portal has a page only") { lab in
                let home = try await House.openHome(in: lab)
                try await home.powerOn()
                let page = "http://\(home.gateway)/splash"
                let providers = try await Providers(["page": Self.provider(showing: page)], in: lab)
                let device = try await Device.atHome(
                    home, in: lab, settings: House.servers.merging(["ALTNET_PROVIDERS": providers.socket]) { $1 })
                try await device.broker(.ready, within: .seconds(30))
                try await home.captivePortal()
                try await device.connectivity(within: .seconds(60), "the user to be asked") {
                    $0.portal?.state == .presentingUI && $0.portal?.provider == "page" && $0.internet == .captive
                }
                #expect(try await device.commandLine(["portal"]).contains(page))

                let form = try await lab.station.curl(
                    "http://\(home.gateway)/accept", ["--data", "tok=31f20a&terms=yes"])
                #expect(form.text.contains("online"), "\(form.text)")
                try await device.connectivity(within: .seconds(120), "the opened network to be noticed") {
                    $0.internet == .yes && $0.portal?.state == .maintaining && $0.portal?.provider == "page"
                }
                try await device.broker(.ready, within: .seconds(30))
            }
        }

        // covers: seed/providers-apart
        @Test func aProviderCrashes() async throws {
            try await scenario("provider crashes", accessPoints: 2) { lab in
                let providers = try await Providers(["crash": "read -r _; kill -SEGV $$"], in: lab)
                let house = try await House(
                    lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": providers.socket])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal()
                try await house.expectBroker(through: house.backup, within: .seconds(60))
                house.expectWay([house.backup], since: mark)
                providers.expectStarted(["crash"])
                #expect(await house.device.isRunning)
            }
        }

        // covers: seed/provider-evaluate
        @Test(.extended) func badProvidersKeepNoGoodOneFromSigningIn() async throws {
            try await scenario("bad providers and a good one", accessPoints: 2) { lab in
                let bad = [
                    "crash": "read -r _; kill -SEGV $$", "flood": "while :; do echo '{\"v\":1}'; done",
                    "garbage": "read -r _; printf '\\377\\000no JSON\\n'; read -r _", "hang": "exec sleep 1000",
                ]
                let providers = try await Providers(
                    bad.merging(["click-through": Self.clickThrough]) { $1 }, in: lab)
                let house = try await House(
                    lab, upstream: lab.upstream(), settings: ["ALTNET_PROVIDERS": providers.socket])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal()
                try await house.device.connectivity(within: .seconds(60), "the good provider to have signed in") {
                    $0.portal?.state == .maintaining && $0.portal?.provider == "click-through"
                }
                try await house.expectBroker(through: house.home, within: .seconds(30))
                house.expectWay([], since: mark)
                providers.expectStarted(Array(bad.keys))
                #expect(await house.device.isRunning)
            }
        }

        /// The portal answers for the device's own servers, wherever they are and whatever they speak.
        // covers: seed/provider-authenticate
        @Test(.extended) func aPortalThatAnswersForEverybodyIsFoundOut() async throws {
            try await scenario("portal answers for everybody", accessPoints: 2) { lab in
                let targets = "app=http://check.lab.example:80 broker=tcp://\(Upstream.brokerName):1883"
                let house = try await House(lab, upstream: lab.upstream(), settings: ["ALTNET_TARGETS": targets])
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal(answersForEverybody: true)
                let answer = try await lab.station.curl(
                    "http://203.0.113.10:1883/", ["-o", "/dev/null", "-w", "%{http_code}"])
                #expect(answer.text == "302", "the portal answers in the broker's place")
                try await house.device.connectivity(within: .seconds(30), "the portal to be found") {
                    $0.internet == .captive && $0.level != .target
                }
                try await house.expectBroker(through: house.backup, within: .seconds(60))
                house.expectWay([house.backup], since: mark)
            }
        }

        /// A captive network is no destination, neither by itself nor on command, while another leads somewhere.
        // covers: seed/captive-reported
        @Test(.extended) func aCaptiveNetworkIsNotChosen() async throws {
            try await scenario("captive network not chosen", accessPoints: 2) { lab in
                let house = try await House(lab, upstream: lab.upstream())
                try await house.expectBroker(through: house.home, within: .seconds(15))
                let mark = house.mark
                try await house.home.captivePortal()
                try await house.expectBroker(through: house.backup, within: .seconds(60))

                let switched = try await house.device.switchNetwork(to: house.home)
                let outcome = try await house.device.outcome(of: switched, within: .seconds(60))
                #expect(outcome.phase == .rolledBack && outcome.reason == ReasonCode(.captive), "\(outcome)")
                try await house.expectBroker(through: house.backup, within: .seconds(30))
                let settled = ContinuousClock.now
                try await eventually(within: .seconds(70), "a minute to have passed") { .now - settled > .seconds(60) }
                house.expectWay([house.backup, house.home, house.backup], since: mark)
                try await house.expectBroker(through: house.backup, within: .seconds(5))
            }
        }

        /// The network says over DHCP where it can be asked (RFC 8910), and there where to sign in and how long it
        /// lasts.
        // covers: seed/captive-portal-api
        @Test(.extended) func theNetworkSaysWhereAndForHowLong() async throws {
            try await scenario("captive portal API") { lab in
                let providers = try await Providers(["click-through": Self.clickThrough], in: lab)
                let home = try await House.openHome(in: lab)
                try await home.captivePortal()
                try await home.powerOn()
                let page = "https://portal1.lab.example/splash"
                let pages = Mutex<Set<String>>([])
                let device = Device(
                    in: lab, settings: House.servers.merging(["ALTNET_PROVIDERS": providers.socket]) { $1 },
                    onEvent: { event in
                        guard case .networkChanged(let status) = event, let url = status.connectivity?.portal?.url
                        else {
                            return
                        }
                        pages.withLock { _ = $0.insert(url) }
                    })
                try await lab.station.startSupplicant()
                try await device.start()
                try await device.provision(home)
                try await device.broker(.ready, within: .seconds(30))
                #expect(pages.withLock { $0 } == [page], "what the API says, and not what the page is redirected to")

                // The time that is left is in the answer to a question, and is no event.
                let client = try await device.client()
                try await eventually(within: .seconds(70), every: .milliseconds(200), "the rest of the time") {
                    let connectivity = try await client.network().connectivity
                    return connectivity?.internet == .yes
                        && (300...600).contains(connectivity?.portal?.secondsRemaining ?? 0)
                }
                await client.close()
                let said = try await device.commandLine(["portal"])
                #expect(said.contains(", for ") && said.contains(" more"), "\(said)")
            }
        }

        /// Only a user knows the room, and answers through an app.
        // covers: seed/provider-ui
        @Test(.extended) func aPersonFillsIn() async throws {
            try await scenario("portal wants a room") { lab in
                let providers = try await Providers(["click-through": Self.clickThrough], in: lab)
                let home = try await House.openHome(in: lab)
                try await home.powerOn()
                let requests = Mutex<[PortalRequest]>([])
                let device = Device(
                    in: lab, settings: House.servers.merging(["ALTNET_PROVIDERS": providers.socket]) { $1 },
                    onEvent: { event in
                        guard case .portalRequest(let request) = event else { return }
                        requests.withLock { $0.append(request) }
                    })
                try await lab.station.startSupplicant()
                try await device.start()
                try await device.provision(home)
                try await device.broker(.ready, within: .seconds(30))
                try await home.captivePortal(.room)
                try await eventually(within: .seconds(60), "the user to be asked") {
                    requests.withLock { !$0.isEmpty }
                }
                let request = try #require(requests.withLock { $0.first })
                #expect(request.fields.contains { $0.name == "room" && $0.kind == .text })
                try await device.connectivity(within: .seconds(10), "it to wait for that") {
                    $0.portal?.state == .presentingUI && $0.internet == .captive
                }

                let said = try await device.commandLine(["portal", "--answer", "room=\(LoginPage.rightRoom)"])
                #expect(said.contains("Answer sent"), "\(said)")
                try await device.connectivity(within: .seconds(60), "the answer to have opened the network") {
                    $0.internet == .yes && $0.level == .target && $0.portal?.state == .maintaining
                }
                let address = try #require(await lab.station.address)
                try await lab.station.seen(as: "\(address)", within: .seconds(10))
            }
        }

        // covers: seed/captive-reported
        @Test(.extended) func withoutSignInThePortalIsTold() async throws {
            try await scenario("without sign-in") { lab in
                let home = try await House.openHome(in: lab)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: House.servers)
                try await device.broker(.ready, within: .seconds(15))
                try await home.captivePortal()
                try await device.connectivity(within: .seconds(30), "the portal to be found") {
                    $0.internet == .captive && $0.portal?.url == "http://\(home.gateway)/splash"
                }
                let broken = try await device.diagnosis().steps.first { $0.result == .broken }
                #expect(broken?.layer == .internet)
                #expect(try await device.commandLine(["status"]).contains("http://\(home.gateway)/splash"))
            }
        }
    }
}

extension Radios {
    /// A network that the device joins, and that lies to it to end its agent.
    @Suite struct HostileNetworkTests {
        /// Answers of the captive portal's API (RFC 8908) that end a careless reader: each number overflows an
        /// exponent, an integer or a duration, and each form is one that another reader takes.
        private static let answers = [
            #"{"captive": false, "seconds-remaining": 10e9223372036854775807}"#,
            #"{"captive": false, "seconds-remaining": -0.0e9223372036854775808, "bytes-remaining": 0e99999999999999999999}"#,
            #"{"captive": false, "seconds-remaining": 9223372036854775807, "bytes-remaining": 9223372036854775807}"#,
            #"{"captive": true, "seconds-remaining": -9223372036854775808, "x": 1e400,}"#,
            String(repeating: "[", count: 16_000),
        ]

        /// The attack that ended the agent in every try: the network announces the API by DHCP (RFC 8910), the device
        /// asks, and after each restart it asks again.
        // covers: seed/captive-portal-api
        @Test(.extended) func theCaptivePortalAPIAnswersHostileNumbers() async throws {
            try await scenario("hostile captive portal API") { lab in
                let home = try await House.openHome(in: lab)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab, settings: House.servers)
                try await device.broker(.ready, within: .seconds(15))
                let agent = try #require(await device.program?.pid)
                for answer in Self.answers {
                    let before = await home.timesAskedOfPortal
                    try await home.powerOff()
                    try await home.captivePortal(apiSays: answer)
                    try await home.powerOn()
                    try await device.online(on: home, within: .seconds(60))
                    try await eventually(within: .seconds(60), "the device to ask the portal's API") {
                        await home.timesAskedOfPortal > before
                    }
                    // The answer has been read once the device goes on to say what its network is like.
                    try await device.connectivity(within: .seconds(30), "the device to know the portal") {
                        $0.internet == .captive
                    }
                    #expect(await device.isRunning, "\(answer.prefix(80))")
                    #expect(await device.program?.pid == agent)
                }
                try await home.endCaptivePortal()
                try await device.broker(.ready, within: .seconds(120))
            }
        }
    }
}
