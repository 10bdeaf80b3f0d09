//! Which of our metrics stands in which column. Sections, columns and their order: LMbench 3.0 `make see`.

/// A section of the table.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) columns: &'static [Column],
}

/// A column.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Metrics whose mean it shows.
    pub(super) metrics: &'static [&'static str],
    /// From the metric's unit to the section's.
    pub(super) factor: f64,
    /// Where our definition differs from the old one; empty where it does not.
    pub(super) differs: &'static str,
}

const fn column(
    title: &'static str,
    metrics: &'static [&'static str],
    factor: f64,
    differs: &'static str,
) -> Column {
    Column { title, metrics, factor, differs }
}

/// ns to us.
const US: f64 = 1e-3;

pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "Basic system parameters",
        unit: "counts, MHz",
        columns: &[
            column(
                "Mhz",
                &["sys.clock_mhz"],
                1.0,
                "measured from a dependent chain and cross-checked, not guessed from instructions",
            ),
            column(
                "tlb",
                &["tlb.l1.entries"],
                1.0,
                "entries of the first-level data TLB, found from the staircase",
            ),
            column("line", &["mem.line"], 1.0, ""),
            column("mem par", &["mem.parallelism"], 1.0, "bounded by the number of chains"),
            column("scal load", &["sys.load_scaling"], 1.0, "throughput of all CPUs over that of one"),
        ],
    },
    Section {
        title: "Processor, Processes",
        unit: "us, smaller is better",
        columns: &[
            column("null", &["syscall.null"], US, ""),
            column("I/O", &["syscall.read", "syscall.write"], US, ""),
            column("stat", &["syscall.stat"], US, ""),
            column("open", &["syscall.open_close"], US, ""),
            column(
                "slct",
                &["select.tcp.100"],
                US,
                "100 distinct sockets and the right nfds; the old program polls copies of one descriptor and too few of them",
            ),
            column("inst", &["sig.install"], US, ""),
            column("hndl", &["sig.catch"], US, "includes the kill that sends the signal"),
            column("fork", &["proc.fork"], US, ""),
            column("exec", &["proc.exec_dynamic"], US, "a dynamically linked program of the system"),
            column("sh", &["proc.sh"], US, ""),
        ],
    },
    Section {
        title: "Basic integer operations",
        unit: "ns, smaller is better",
        columns: &[
            column("bit", &["ops.i32.bit"], 1.0, ""),
            column("add", &["ops.i32.add"], 1.0, "a chain that no compiler folds"),
            column("mul", &["ops.i32.mul"], 1.0, ""),
            column("div", &["ops.i32.div"], 1.0, ""),
            column("mod", &["ops.i32.mod"], 1.0, ""),
            column("i64 bit", &["ops.i64.bit"], 1.0, ""),
            column("i64 add", &["ops.i64.add"], 1.0, ""),
            column("i64 mul", &["ops.i64.mul"], 1.0, ""),
            column("i64 div", &["ops.i64.div"], 1.0, ""),
            column("i64 mod", &["ops.i64.mod"], 1.0, ""),
        ],
    },
    Section {
        title: "Basic float and double operations",
        unit: "ns, smaller is better",
        columns: &[
            column("f add", &["ops.f32.add"], 1.0, ""),
            column("f mul", &["ops.f32.mul"], 1.0, ""),
            column("f div", &["ops.f32.div"], 1.0, ""),
            column("f bogo", &["ops.f32.bogomflops"], 1.0, ""),
            column("d add", &["ops.f64.add"], 1.0, ""),
            column("d mul", &["ops.f64.mul"], 1.0, ""),
            column("d div", &["ops.f64.div"], 1.0, ""),
            column("d bogo", &["ops.f64.bogomflops"], 1.0, ""),
        ],
    },
    Section {
        title: "Context switching",
        unit: "us, smaller is better",
        columns: &[
            column(
                "2p/0K",
                &["ctx.pipe.2p.0k"],
                US,
                "per switch on one CPU, nothing subtracted: the ring's own cost is ctx.pipe.ring.*",
            ),
            column("2p/16K", &["ctx.pipe.2p.16k"], US, ""),
            column("2p/64K", &["ctx.pipe.2p.64k"], US, ""),
            column("8p/16K", &["ctx.pipe.8p.16k"], US, ""),
            column("8p/64K", &["ctx.pipe.8p.64k"], US, ""),
            column("16p/16K", &["ctx.pipe.16p.16k"], US, ""),
            column("16p/64K", &["ctx.pipe.16p.64k"], US, ""),
        ],
    },
    Section {
        title: "*Local* communication latencies",
        unit: "us, smaller is better",
        columns: &[
            column("2p/0K", &["ctx.pipe.2p.0k"], US, ""),
            column(
                "Pipe",
                &["ipc.pipe"],
                US,
                "round trip on one CPU; across CPUs it is ipc.pipe.core and the like",
            ),
            column("AF UNIX", &["ipc.unix"], US, ""),
            column("UDP", &["net.udp"], US, ""),
            column(
                "RPC/UDP",
                &["net.rpc_udp"],
                US,
                "our own request and reply, no portmapper, no time-out that ends the test",
            ),
            column("TCP", &["net.tcp"], US, ""),
            column("RPC/TCP", &["net.rpc_tcp"], US, ""),
            column(
                "TCP conn",
                &["net.tcp_connect"],
                US,
                "refused when the listen queue overflows or a SYN is sent twice",
            ),
        ],
    },
    Section {
        title: "File & VM system latencies",
        unit: "us, smaller is better",
        columns: &[
            column("0K crt", &["fs.create.0k"], US, ""),
            column("0K del", &["fs.delete.0k"], US, ""),
            column("10K crt", &["fs.create.10k"], US, ""),
            column("10K del", &["fs.delete.10k"], US, ""),
            column(
                "Mmap",
                &["vm.mmap.8m"],
                US,
                "8 MiB mapped, touched and unmapped, whatever the memory size",
            ),
            column("Prot", &["sig.prot"], US, "nothing is subtracted"),
            column(
                "Page",
                &["vm.fault.file"],
                US,
                "per fault, not per page: fault-around maps several pages a fault (vm.fault.file.page)",
            ),
            column("100fd", &["select.file.100"], US, "100 distinct files"),
        ],
    },
    Section {
        title: "*Local* communication bandwidths",
        unit: "MB/s (10^6), bigger is better",
        columns: &[
            column("Pipe", &["bw.pipe"], 1.0, ""),
            column("AF UNIX", &["bw.unix"], 1.0, "bytes really moved"),
            column("TCP", &["bw.tcp.64k"], 1.0, "messages of 64 KiB; other sizes are bw.tcp.*"),
            column("File", &["bw.file_read"], 1.0, "read() alone; the old test also sums every word"),
            column("Mmap", &["bw.mmap_read"], 1.0, ""),
            column(
                "libc cp",
                &["bw.mem.copy_libc"],
                1.0,
                "footprint from the last-level cache, not from the memory size",
            ),
            column(
                "hand cp",
                &["bw.mem.copy"],
                1.0,
                "widest vectors of the machine; 4-byte words are bw.mem.*.scalar",
            ),
            column("Mem rd", &["bw.mem.read"], 1.0, "every byte is touched"),
            column("Mem wr", &["bw.mem.write"], 1.0, ""),
        ],
    },
    Section {
        title: "Memory latencies",
        unit: "ns, smaller is better",
        columns: &[
            column(
                "L1",
                &["mem.lat.l1"],
                1.0,
                "random chain inside the level that sysfs names; strided chains measure the prefetcher",
            ),
            column("L2", &["mem.lat.l2"], 1.0, ""),
            column("Main mem", &["mem.lat.dram"], 1.0, "beyond the last-level cache, page by page"),
            column(
                "Rand mem",
                &["mem.lat.dram_random"],
                1.0,
                "every access on another page: includes address translation",
            ),
        ],
    },
];
