import Lab
import Testing

extension Radios {
    /// What happens to the radio of the device, and what else uses it.
    @Suite struct RadioTroubleTests {
        /// Blocked by a program, and let go: it says so meanwhile, and is back at once.
        @Test func aBlockedRadioIsToldAndComesBack() async throws {
            try await scenario("rfkill") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let pinger = try await lab.pinger()
                try await pinger.reply(within: .seconds(5))
                try await lab.station.block(true)
                try await eventually(within: .seconds(20), "the device to say that its radio is blocked") {
                    await device.log.contains("is blocked (rfkill)")
                }
                let status = try await device.commandLine(["status"])
                let line = status.split(separator: "\n").first { $0.contains("rfkill") }
                #expect(line?.contains("ALTNET_COUNTRY") == true, "\(status)")
                let mark = device.decisions.count
                try await Task.sleep(for: .seconds(20))
                let back = ContinuousClock.now
                try await lab.station.block(false)
                let reply = try await pinger.reply(after: back, within: .seconds(30))
                lab.report("altnet: radio unblocked, until a ping", reply - back)
                #expect(!device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// A stick whose driver is mac80211's: another radio and interface of the same names and address come back.
        @Test(.extended, .onSoftMAC("pluggedOutAndIn is about the other kind")) func aStickIsPulledAndPlugged()
            async throws
        {
            try await scenario("stick pulled and plugged", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                try await lab.station.unplug()
                try await house.pinger.silence(of: .seconds(3), within: .seconds(10))
                #expect(lab.station.currentInterface == nil)
                try await lab.station.plug()
                let back = ContinuousClock.now
                let reply = try await house.pinger.reply(after: back, within: .seconds(30))
                lab.report("altnet: stick plugged in again, until a ping", reply - back)
                try await house.device.online(on: house.home, within: .seconds(5))
                #expect(house.device.stations(since: mark).first == house.home.ssid, "no access point is blamed")
                #expect(reply - back < .seconds(2))
                try await house.expectFailover(within: .seconds(20))
            }
        }

        /// wpa_supplicant may have been told to give the device another hardware address in each network, and while it scans.
        @Test(.extended) func eachNetworkSeesAnotherAddress() async throws {
            try await scenario("another address in each network", accessPoints: 2) { lab in
                let house = try await House(lab)
                func address() async throws -> Substring? {
                    try await lab.station.ask("STATUS").split(separator: "\n").first { $0.hasPrefix("address=") }
                }
                let own = try await address()
                for setting in ["mac_addr 1", "preassoc_mac_addr 1"] {
                    #expect(try await lab.station.ask("SET \(setting)") == "OK\n")
                }
                let mark = house.mark
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                // It sets the interface down for that, which may end the first join.
                try await house.device.online(on: house.backup, within: .seconds(20))
                try await house.expectTraffic(through: house.backup)
                lab.report("altnet: power cut to ping by another address", .now - cut)
                #expect(try await address() != own)
                try await house.home.powerOn()
                try await house.device.online(on: house.home, within: .seconds(90))
                try await house.expectTraffic(through: house.home)
                #expect(try await address() != own)
                #expect(!house.device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// The state after a suspended kernel: no program of the device has run for a minute, and the link is gone. The
        /// kernel itself cannot be suspended here (Docs/results/radios.md).
        @Test(.extended) func programsStandStillForAMinute() async throws {
            try await scenario("programs stand still for a minute", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let programs = await lab.station.programs + [house.device.program].compactMap(\.self)
                for program in programs { program.freeze() }
                try await house.home.powerOff()
                try await Task.sleep(for: .seconds(60))
                let back = ContinuousClock.now
                for program in programs { program.thaw() }
                let reply = try await house.pinger.reply(after: back, within: .seconds(15))
                lab.report("altnet: a minute's standstill and home gone, until a ping through the backup", reply - back)
                try await house.device.online(on: house.backup, within: .seconds(5))
                house.expectWay([house.backup], since: mark)
                #expect(reply - back < .seconds(5))
            }
        }

        /// The agent goes by the interface's name: renamed it is gone, and back it is the one that it had. What has set it down
        /// may have its reasons, so it is brought up when it has been down for half a minute.
        @Test(.extended) func theInterfaceIsRenamed() async throws {
            try await scenario("interface renamed", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                try await lab.station.setInterface(up: false)
                try await lab.station.renameInterface(to: "other")
                try await lab.station.setInterface(up: true)
                try await eventually(within: .seconds(10), "the device to miss its interface") {
                    await house.device.log.contains("no interface \(lab.station.interface)")
                }
                try await Task.sleep(for: .seconds(5))
                try await lab.station.setInterface(up: false)
                try await lab.station.renameInterface(to: lab.station.interface)
                let back = ContinuousClock.now
                let reply = try await house.pinger.reply(after: back, within: .seconds(40))
                lab.report("altnet: renamed interface has its name again, until a ping", reply - back)
                try await house.device.online(on: house.home, within: .seconds(5))
                #expect(house.device.stations(since: mark).first == house.home.ssid, "no access point is blamed")
            }
        }

        /// Another program scans all the time: the device is in its network, and leaves a dead one all the same.
        @Test(.extended) func scansByOthers() async throws {
            try await scenario("scans by others", accessPoints: 2) { lab in
                let house = try await House(lab)
                let scanner = try await lab.start(
                    "bash",
                    [
                        "-c",
                        "while :; do iw dev \(lab.station.interface) scan >/dev/null && echo scanned; sleep 0.2; done",
                    ],
                    log: "scanner")
                let start = ContinuousClock.now
                let mark = house.mark
                try await Task.sleep(for: .seconds(20))
                lab.report("altnet: another program scans, longest gap", house.pinger.longestGap(since: start))
                house.expectWay([], since: mark)
                let scans = try String(contentsOfFile: scanner.log, encoding: .utf8).split(separator: "\n")
                #expect(scans.contains("scanned"))
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                let reply = try await house.pinger.reply(after: cut, within: .seconds(30))
                lab.report("altnet: power cut while another program scans, until a ping", reply - cut)
                try await house.device.online(on: house.backup, within: .seconds(10))
                scanner.kill()
            }
        }
    }
}
