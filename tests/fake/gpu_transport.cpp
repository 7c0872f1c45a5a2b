// libmpi_gtl_fake.so: only its name matters.
extern "C" int fake_gpu_transport();
extern "C" int fake_gpu_transport() {
  return 1;
}
